// Renders the Markdown of docs/ as HTML. Every element comes from this file: raw HTML of a page is shown as text, as all other text is escaped.

import { Lexer, type Token, type Tokens } from "marked";

export type Heading = { readonly level: number; readonly id: string; readonly text: string };

export type RenderedPage = {
  readonly title: string;
  readonly html: string;
  readonly headings: readonly Heading[];
  /** All that an address can name: headings, and rows of tables that begin with code. */
  readonly anchors: ReadonlySet<string>;
  /** Raw HTML, and what else has no form here. A test finds them: readers get the source as text. */
  readonly faults: readonly string[];
};

/** `href` of a link; undefined where the page is read without its target: then the text stays, with `title` beside it. */
export type Target = { readonly href: string } | { readonly href: undefined; readonly title: string };

export type RenderOptions = {
  readonly resolve: (href: string) => Target;
};

const ESCAPES: { readonly [character: string]: string } = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

export const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? "");

/** As escapeHtml, but leaves entities of Markdown such as `&nbsp;`. */
const escapeText = (text: string): string =>
  text.replaceAll(/&(?!#\d{1,7};|#x[\da-f]{1,6};|\w+;)|[<>"']/gi, (character) => ESCAPES[character] ?? "");

/** The anchor of a heading, as GitHub makes it. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");

export function renderMarkdown(markdown: string, options: RenderOptions): RenderedPage {
  const page = new Rendering(options);
  const html = page.blocks(new Lexer({ gfm: true }).lex(markdown));
  const [first] = page.headings;
  if (first?.level !== 1) page.faults.push("begins with no heading of the first level");
  const title = first?.text ?? "";
  return { title, html, headings: page.headings.slice(1), anchors: page.anchors, faults: page.faults };
}

class Rendering {
  readonly headings: Heading[] = [];
  readonly anchors = new Set<string>();
  readonly faults: string[] = [];
  readonly #options: RenderOptions;
  /** The anchor of the section that rows of tables belong to. */
  #section = "";

  constructor(options: RenderOptions) {
    this.#options = options;
  }

  blocks(tokens: readonly Token[]): string {
    return tokens.map((token) => this.#block(token as Tokens.Generic)).join("");
  }

  #block(token: Tokens.Generic): string {
    switch (token.type) {
      case "space":
        return "";
      case "heading":
        return this.#heading(token as Tokens.Heading);
      case "paragraph": {
        const text = this.#inline(token.tokens ?? []);
        return text.trim() === "" ? "" : `<p>${text}</p>\n`;
      }
      case "text":
        return token.tokens === undefined ? escapeText(token["text"]) : this.#inline(token.tokens);
      case "code":
        return `<pre tabindex="0"><code>${escapeHtml(token["text"])}\n</code></pre>\n`;
      case "blockquote":
        return `<blockquote>${this.blocks(token.tokens ?? [])}</blockquote>\n`;
      case "list":
        return this.#list(token as Tokens.List);
      case "table":
        return this.#table(token as Tokens.Table);
      case "hr":
        return "<hr>\n";
      case "html":
        // Generators leave their names in comments.
        if (/^<!--.*-->\s*$/s.test(token.raw)) return "";
        break;
    }
    return `<p>${this.#source(token)}</p>\n`;
  }

  #heading({ depth, tokens }: Tokens.Heading): string {
    const text = plainText(tokens);
    const id = this.#anchor(anchorOf(text));
    this.#section = id;
    this.headings.push({ level: depth, id, text });
    const inner = this.#inline(tokens);
    const link = depth === 1 ? "" : ` <a class="anchor" href="#${id}" aria-label="Link to this section">#</a>`;
    return `<h${depth} id="${id}">${inner}${link}</h${depth}>\n`;
  }

  #list({ ordered, start, items }: Tokens.List): string {
    const name = ordered ? "ol" : "ul";
    const from = ordered && start !== "" && start !== 1 ? ` start="${start}"` : "";
    return `<${name}${from}>\n${items.map(({ tokens }) => `<li>${this.blocks(tokens)}</li>\n`).join("")}</${name}>\n`;
  }

  /** A table whose pictures are left out may have nothing to show. */
  #table({ header, rows }: Tokens.Table): string {
    const cells = rows.map((row) => row.map(({ tokens }) => this.#inline(tokens)));
    if (cells.every((row) => row.every((cell) => cell === ""))) return "";
    const heads = header.map(({ tokens }) => this.#inline(tokens));
    const head = heads.every((text) => text === "")
      ? ""
      : `<thead><tr>${heads.map((text) => (text === "" ? "<td></td>" : `<th scope="col">${text}</th>`)).join("")}</tr></thead>`;
    const body = rows.map((row, at) => {
      const [first] = row[0]?.tokens ?? [];
      const isNamed = first?.type === "codespan" && row[0]?.tokens.length === 1;
      const id = isNamed ? ` id="${this.#anchor(`${this.#section}-${anchorOf(first["text"])}`)}"` : "";
      return `<tr${id}>${(cells[at] ?? []).map((text) => `<td>${text}</td>`).join("")}</tr>\n`;
    });
    return `<div class="table" tabindex="0"><table>${head}<tbody>\n${body.join("")}</tbody></table></div>\n`;
  }

  #inline(tokens: readonly Token[]): string {
    return tokens.map((token) => this.#span(token as Tokens.Generic)).join("");
  }

  #span(token: Tokens.Generic): string {
    switch (token.type) {
      case "text":
        return token.tokens === undefined ? escapeText(token["text"]) : this.#inline(token.tokens);
      case "escape":
        return escapeHtml(token["text"]);
      case "codespan":
        return `<code>${escapeHtml(token["text"])}</code>`;
      case "strong":
      case "em":
      case "del":
        return `<${token.type}>${this.#inline(token.tokens ?? [])}</${token.type}>`;
      case "br":
        return "<br>";
      case "link":
        return this.#link(token as Tokens.Link);
      // Pictures show the console, which the reader has beside the page.
      case "image":
        return "";
    }
    return this.#source(token);
  }

  #source({ type, raw }: Tokens.Generic): string {
    this.faults.push(`${type}: ${raw}`);
    return escapeHtml(raw);
  }

  #link({ href, tokens }: Tokens.Link): string {
    const target = this.#options.resolve(href);
    const text = this.#inline(tokens);
    if (target.href === undefined) return `<span title="${escapeHtml(target.title)}">${text}</span>`;
    return `<a href="${escapeHtml(target.href)}">${text}</a>`;
  }

  #anchor(wanted: string): string {
    let anchor = wanted;
    for (let more = 1; this.anchors.has(anchor); more++) anchor = `${wanted}-${more}`;
    this.anchors.add(anchor);
    return anchor;
  }
}

const plainText = (tokens: readonly Token[]): string =>
  (tokens as readonly Tokens.Generic[])
    .map(({ tokens, text = "" }) => (tokens === undefined ? String(text) : plainText(tokens)))
    .join("");
