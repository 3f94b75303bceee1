// The pages of the documentation that the server serves: README, CHANGELOG, SECURITY and all of docs/, with their addresses below /docs.

import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Lexer, type Token, type Tokens } from "marked";
import { escapeHtml, type Heading, type RenderedPage, renderMarkdown, type Target } from "./render-markdown.ts";

const REPOSITORY = fileURLToPath(new URL("../../", import.meta.url));
const INDEX = "docs/README.md";
const BESIDE = ["README.md", "CHANGELOG.md", "SECURITY.md"];
/** Pictures of the console: their page is for readers of the repository. */
const LEFT_OUT = /^docs\/images\//;

/** Paths of the Markdown files below the repository. */
export async function documentationSources(): Promise<readonly string[]> {
  const names = await readdir(join(REPOSITORY, "docs"), { recursive: true });
  const pages = names.map((name) => `docs/${name.replaceAll("\\", "/")}`).filter((path) => path.endsWith(".md"));
  return [...BESIDE, ...pages.filter((path) => !LEFT_OUT.test(path)).sort()];
}

/** `/docs/guides/ci` of `docs/guides/ci.md`; README.md of a folder has the folder's address. */
export function addressOf(path: string): string {
  if (!path.startsWith("docs/")) return `/docs/${path.replace(/\.md$/, "").toLowerCase()}`;
  return `/${path.replace(/\.md$/, "").replace(/\/README$/, "")}`;
}

type NavigationGroup = {
  readonly title: string;
  readonly pages: readonly { readonly path: string; readonly title: string }[];
};

type DocumentationPage = {
  readonly title: string;
  /** HTML of the article with its contents, and the links to the pages before and after. */
  readonly html: string;
};

export type Documentation = {
  readonly navigation: readonly NavigationGroup[];
  /** By address. */
  readonly pages: { readonly [address: string]: DocumentationPage };
  /** Links that lead nowhere, and raw HTML. A test finds them; a build goes on. */
  readonly faults: readonly string[];
};

/** `sources`: paths below the repository. */
export async function renderDocumentation(sources: readonly string[]): Promise<Documentation> {
  const links: { readonly from: string; readonly to: string; readonly anchor: string }[] = [];
  const rendered = new Map<string, RenderedPage>();
  const faults: string[] = [];
  let index = "";
  for (const path of sources) {
    const text = await readFile(join(REPOSITORY, path), "utf8");
    if (path === INDEX) index = text;
    const resolve = (href: string): Target => {
      const { target, to, anchor } = targetOf(href, path, sources);
      if (target === undefined) faults.push(`${path}: there is no ${href}`);
      if (to !== undefined) links.push({ from: path, to, anchor });
      return target ?? { href: undefined, title: href };
    };
    const page = renderMarkdown(text, { resolve });
    rendered.set(path, page);
    faults.push(...page.faults.map((fault) => `${path}: ${fault}`));
  }
  for (const { from, to, anchor } of links)
    if (anchor !== "" && rendered.get(to)?.anchors.has(anchor) !== true)
      faults.push(`${from}: ${to} has no section #${anchor}`);
  const navigation = navigationOf(index, sources);
  const order = navigation.flatMap(({ pages }) => pages);
  const pages = Object.fromEntries(
    [...rendered].map(([path, { title, html, headings }]) => {
      const at = order.findIndex((page) => page.path === addressOf(path));
      const turns = at === -1 ? "" : turnsOf(order[at - 1], order[at + 1]);
      return [addressOf(path), { title, html: `${contentsOf(headings)}<article>\n${html}${turns}</article>` }];
    }),
  );
  return { navigation, pages, faults };
}

/** `to`: the source of the page that it leads to. `target` is undefined where there is nothing. */
function targetOf(
  href: string,
  from: string,
  pages: readonly string[],
): { readonly target: Target | undefined; readonly to?: string; readonly anchor: string } {
  if (/^https?:\/\//.test(href)) return { target: { href }, anchor: "" };
  const [relative = "", anchor = ""] = href.split("#");
  const to = relative === "" ? from : join(from, "..", relative).replaceAll("\\", "/").replace(/\/$/, "");
  if (!existsSync(join(REPOSITORY, to))) return { target: undefined, anchor };
  const page = [to, `${to}/README.md`].find((path) => pages.includes(path));
  if (page === undefined) return { target: { href: undefined, title: `${to} of the repository` }, anchor };
  const address = page === from && anchor !== "" ? "" : addressOf(page);
  return { target: { href: `${address}${anchor === "" ? "" : `#${anchor}`}` }, to: page, anchor };
}

/** The tables of docs/README.md: one group for each, with the links in their order. */
function navigationOf(index: string, pages: readonly string[]): readonly NavigationGroup[] {
  const groups: { title: string; pages: { path: string; title: string }[] }[] = [];
  let title = "Start";
  for (const token of new Lexer({ gfm: true }).lex(index) as Tokens.Generic[]) {
    if (token.type === "heading" && token["depth"] === 2) title = token["text"];
    if (token.type !== "table") continue;
    const { header, rows } = token as Tokens.Table;
    const cells = [header, ...rows].flat().flatMap(({ tokens }) => linksOf(tokens));
    const listed = cells.flatMap(({ href, text }) => {
      const { to } = targetOf(href, INDEX, pages);
      return to === undefined
        ? []
        : [{ path: addressOf(to), title: text.replace(/^./, (first) => first.toUpperCase()) }];
    });
    groups.push({ title, pages: listed });
  }
  return groups;
}

const linksOf = (tokens: readonly Token[]): readonly Tokens.Link[] =>
  tokens.flatMap((token) =>
    token.type === "link" ? [token as Tokens.Link] : linksOf((token as Tokens.Generic).tokens ?? []),
  );

/** Sections of a page, where it has more than one. */
function contentsOf(headings: readonly Heading[]): string {
  const shown = headings.filter(({ level }) => level === 2 || level === 3);
  if (shown.length < 2) return "";
  const lines = shown.map(
    ({ level, id, text }) => `<li class="level-${level}"><a href="#${id}">${escapeHtml(text)}</a></li>\n`,
  );
  return `<nav class="contents" aria-labelledby="contents"><h2 id="contents">On this page</h2><ul>\n${lines.join("")}</ul></nav>\n`;
}

type Turn = NavigationGroup["pages"][number] | undefined;

const turnsOf = (before: Turn, after: Turn): string =>
  `<nav class="turns" aria-label="Pages beside this one">${[
    before === undefined ? "" : `<a rel="prev" href="${before.path}">← ${escapeHtml(before.title)}</a>`,
    after === undefined ? "" : `<a rel="next" href="${after.path}">${escapeHtml(after.title)} →</a>`,
  ].join("")}</nav>\n`;
