// The pages of docs/ as the server serves them: links that lead somewhere, and nothing but text in them.

import { describe, expect, it } from "vitest";
import { addressOf, documentationSources, renderDocumentation } from "./documentation-pages.ts";
import { renderMarkdown } from "./render-markdown.ts";

it("finds every link of docs/, and no raw HTML", async () => {
  const { faults, navigation, pages } = await renderDocumentation(await documentationSources());
  expect(faults).toEqual([]);
  const listed = navigation.flatMap((group) => group.pages.map(({ path }) => path));
  expect(listed.length).toBeGreaterThan(40);
  expect(listed.filter((path) => !Object.hasOwn(pages, path))).toEqual([]);
});

it("reports what leads nowhere, and goes on", async () => {
  const { faults, pages } = await renderDocumentation(["docs/README.md"]);
  // All other pages are left out here, and are files of the repository then.
  expect(faults).toEqual([]);
  expect(pages["/docs"]?.html).toContain('<span title="docs/faq.md of the repository">Questions and answers</span>');
});

it.each([
  ["README.md", "/docs/readme"],
  ["docs/README.md", "/docs"],
  ["docs/guides/ci.md", "/docs/guides/ci"],
  ["docs/reference/kinds/README.md", "/docs/reference/kinds"],
])("serves %s at %s", (path, address) => {
  expect(addressOf(path)).toBe(address);
});

const render = (markdown: string) =>
  renderMarkdown(`# T\n\n${markdown}`, { resolve: (href) => ({ href: href.replace(/^javascript:/, "#") }) });

describe("HTML of a page", () => {
  it.each([
    ["<script>alert(1)</script>", 1],
    ["a <b onclick=x>b</b>", 2],
    ["<img src=x onerror=alert(1)>", 1],
    ["<!-- left by a generator -->", 0],
  ])("shows %j as text", (markdown, faults) => {
    const page = render(markdown);
    expect(page.html.replace(/^<h1.*<\/h1>/, "")).not.toMatch(/<(?!\/?p>)/);
    expect(page.faults).toHaveLength(faults);
  });

  it.each([
    ["`<a & b>`", "<code>&lt;a &amp; b&gt;</code>"],
    ["a < b & c &nbsp; \\<d>", "a &lt; b &amp; c &nbsp; &lt;d&gt;"],
    ['[a"b](x"y)', '<a href="x&quot;y">a&quot;b</a>'],
    ["```sh\n</code><i>\n```", "<code>&lt;/code&gt;&lt;i&gt;\n</code>"],
  ])("escapes %j", (markdown, html) => {
    expect(render(markdown).html).toContain(html);
  });

  it("has an anchor for each heading and each row that begins with code, and none twice", () => {
    const { html, anchors, headings } = render("## A `b`\n\n## A b\n\n| x |\n|---|\n| `Row` |\n| text |\n| `Row` |\n");
    expect([...anchors]).toEqual(["t", "a-b", "a-b-1", "a-b-1-row", "a-b-1-row-1"]);
    expect(headings.map(({ id }) => id)).toEqual(["a-b", "a-b-1"]);
    expect(html.match(/<tr id=/g)).toHaveLength(2);
  });

  it("leaves pictures out, and a table of nothing but pictures", () => {
    expect(render("![A](a.png)\n\n| a | b |\n|---|---|\n| ![A](a.png) | ![B](b.png) |\n").html).not.toMatch(
      /<p>|<table/,
    );
  });
});
