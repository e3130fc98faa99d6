// Tables of the documentation in their compact form: cells hold sentences, and aligned columns would be as wide as the longest of them.
import { createRequire } from "node:module";

const markdown = createRequire(new URL("../viewer/package.json", import.meta.url))("prettier/plugins/markdown");
const { mdast } = markdown.printers;

export const { languages, parsers } = markdown;

export const printers = {
  mdast: {
    ...mdast,
    print(path, options, print, args) {
      if (path.node.type !== "table") {
        return mdast.print(path, options, print, args);
      }
      // What proseWrap "never" chooses where aligned columns do not fit the line.
      const [, group] = mdast.print(path, { ...options, proseWrap: "never" }, print, args);
      return group.contents.breakContents;
    },
  },
};
