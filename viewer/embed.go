// Package viewer holds the page that people look at, as it was built from the TypeScript beside it (make viewer), and
// writes it as HTML: whole, so that nothing is fetched but, where it is served, the run's data. What the data are it
// does not know.
package viewer

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"io"
)

//go:embed dist/viewer.js
var script []byte

//go:embed dist/viewer.css
var style []byte

// A Page is what the HTML says beside what the viewer makes of the data.
type Page struct {
	Title string
	Mode  string // "report", "view" or "live": where the viewer finds its data
	// Pack writes the data into the page; nil = the viewer fetches them.
	Pack func(io.Writer) error
}

// Policy is the Content-Security-Policy of a page: only the viewer's script runs, whatever the names in the data are.
func (p *Page) Policy() string {
	connect := "'self'"
	if p.Pack != nil {
		connect = "'none'"
	}
	return fmt.Sprintf("default-src 'none'; script-src 'sha256-%s'; style-src 'unsafe-inline'; img-src data: blob:; connect-src %s; worker-src blob:; base-uri 'none'; form-action 'none'",
		hash(script), connect)
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// endTag would end the script's element within the script.
var endTag = []byte("</script")

// Write writes the page. The script is last: a page that is cut off shows the text before it.
func (p *Page) Write(w io.Writer) error {
	if bytes.Contains(bytes.ToLower(script), endTag) {
		return fmt.Errorf("viewer.js holds %q", endTag)
	}
	_, err := fmt.Fprintf(w, `<!doctype html>
<html lang="en" data-mode="%s">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="%s">
<title>%s</title>
<style>%s</style>
</head>
<body>
<div id="app"><p class="loading" role="status">Reading the run … If this does not change, the page is cut off: copy the file again, or rewrite it with moriens report DIR.</p></div>
<noscript>This page needs JavaScript. The files beside it can be read without: manifest.json says what they are.</noscript>
`, html.EscapeString(p.Mode), p.Policy(), html.EscapeString(p.Title), style)
	if err != nil {
		return err
	}
	if p.Pack != nil {
		if err := p.embed(w); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(w, "<script type=\"module\">%s</script>\n</body>\n</html>\n", script)
	return err
}

// embed writes the data as text that no browser runs.
func (p *Page) embed(w io.Writer) error {
	if _, err := io.WriteString(w, `<script type="text/plain" id="pack">`); err != nil {
		return err
	}
	text := base64.NewEncoder(base64.StdEncoding, w)
	packed := gzip.NewWriter(text)
	if err := p.Pack(packed); err != nil {
		return err
	}
	if err := packed.Close(); err != nil {
		return err
	}
	if err := text.Close(); err != nil {
		return err
	}
	_, err := io.WriteString(w, "</script>\n")
	return err
}
