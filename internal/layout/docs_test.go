package layout

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the tree, from this package.
const root = "../.."

var (
	mdLink  = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	mdFence = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	mdCode  = regexp.MustCompile("`[^`\n]*`")
)

// linksOf lists the files and folders of the tree to which a page links, by path from the root. It leaves out anchors
// and links to other hosts.
func linksOf(page, text string) []string {
	text = mdCode.ReplaceAllString(mdFence.ReplaceAllString(text, ""), "")
	var targets []string
	for _, m := range mdLink.FindAllStringSubmatch(text, -1) {
		target, _, _ := strings.Cut(m[1], "#")
		if target == "" || strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
			continue
		}
		targets = append(targets, path.Join(path.Dir(page), target))
	}
	return targets
}

// Every page below docs is reachable by links from README.md and docs/index.md, and every link has a target.
func TestDocs(t *testing.T) {
	reached := make(map[string]bool)
	for queue := []string{"README.md", "CONTRIBUTING.md", "docs/index.md"}; len(queue) > 0; {
		page := queue[0]
		queue = queue[1:]
		if reached[page] {
			continue
		}
		reached[page] = true
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(page)))
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range linksOf(page, string(text)) {
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(target))); err != nil {
				t.Errorf("%s links to %s, which does not exist", page, target)
			} else if strings.HasSuffix(target, ".md") {
				queue = append(queue, target)
			}
		}
	}
	err := fs.WalkDir(os.DirFS(root), "docs", func(page string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(page, ".md") && !reached[page] {
			t.Errorf("no page links to %s: add it to docs/index.md", page)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestLinksOf(t *testing.T) {
	const text = "[a](b.md#c), ![p](../img/d.png), [e](https://f.example/g.md), [h](#i), `[j](k.md)`\n```\n[l](m.md)\n```\n"
	if got := strings.Join(linksOf("docs/format/n.md", text), " "); got != "docs/format/b.md docs/img/d.png" {
		t.Errorf("links %q", got)
	}
}
