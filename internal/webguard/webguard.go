// Package webguard protects the pages that moriens serves. A request passes if it shows a secret: as the parameter
// token, as a bearer, or by the cookie that the first such request gets. No other site may read, frame or fetch the
// answers. On the loopback a request also has to name this host: otherwise a site whose name resolves to the loopback
// would have, for the browser, the same origin as the page (DNS rebinding).
package webguard

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"strings"
)

// Why a request is refused.
var (
	ErrToken = errors.New("a page was asked for without the right token")
	ErrHost  = errors.New("a page of the loopback was asked for under a name that is not the loopback's")
)

// A Guard is a token, and what to do about clients.
type Guard struct {
	Token    string
	Loopback bool   // it listens there alone
	Policy   string // Content-Security-Policy of every answer, beside that nothing frames it
	Advice   string // for a client without a token or with a wrong one, or by another name
	Passed   func(*http.Request)
	Refused  func(*http.Request, error) // ErrToken or ErrHost
}

// Handler lets requests pass to next that show the token.
func (g Guard) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Cache-Control", "no-store")
		header.Set("Referrer-Policy", "no-referrer") // the address holds the token
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Content-Security-Policy", g.Policy+"; frame-ancestors 'none'")
		if g.Loopback && !namesLoopback(r.Host) {
			g.Refused(r, ErrHost)
			http.Error(w, "wrong host: "+g.Advice, http.StatusMisdirectedRequest)
			return
		}
		shown, how := shownBy(r)
		if !g.is(shown) {
			g.Refused(r, ErrToken)
			header.Set("WWW-Authenticate", "Bearer")
			http.Error(w, "wrong token: "+g.Advice, http.StatusUnauthorized)
			return
		}
		g.Passed(r)
		if how == byAddress && r.URL.Path == "/" {
			// The page takes the token out of the address: the cookie opens it again.
			http.SetCookie(w, &http.Cookie{
				Name: cookieName(r), Value: g.Token, Path: "/", HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode,
			})
		}
		next.ServeHTTP(w, r)
	})
}

// namesLoopback reports whether the host that a request asks for, with or without a port, is an address of the loopback
// or localhost, which browsers look up nowhere else.
func namesLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	return strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback()
}

// is compares with the token in constant time, which needs texts of one length: their hashes.
func (g Guard) is(shown string) bool {
	got, want := sha256.Sum256([]byte(shown)), sha256.Sum256([]byte(g.Token))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

type way int

const (
	byAddress way = iota
	byBearer
	byCookie
)

// shownBy is the token that a request shows, and how.
func shownBy(r *http.Request) (shown string, how way) {
	if bearer, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); is {
		return bearer, byBearer
	}
	if q := r.URL.Query(); q.Has("token") {
		return q.Get("token"), byAddress
	}
	if c, err := r.Cookie(cookieName(r)); err == nil {
		return c.Value, byCookie
	}
	return "", byAddress
}

// cookieName differs between servers of one host: cookies know no ports.
func cookieName(r *http.Request) string {
	port := "0"
	if a, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		if _, p, err := net.SplitHostPort(a.String()); err == nil {
			port = p
		}
	}
	return "moriens-" + port
}
