// Adds the warnings of a request to its response, within the limits of Kubernetes.
// Source: k8s.io/apiserver/pkg/endpoints/filters/warning.go, k8s.io/apimachinery/pkg/util/net/http.go (NewWarningHeader)

import { redactCredentials } from "@postern/apimachinery/text/redact-credentials";
import type { WarningRecorder } from "../context/request-context.ts";
import type { Redact } from "../request/credential-redaction.ts";
import { withHeaders } from "../transport/api-response.ts";
import type { Filter } from "./run-filters.ts";

export const withWarnings = (): Filter => ({
  leave(response, { warnings: { texts } }) {
    return texts.length === 0 ? response : withHeaders(response, { warning: warningHeaders(texts) });
  },
});

const MAX_TOTAL_RUNES = 4 * 1024;
/** How much is left of each warning once all of them together are too long. */
const MAX_RUNES_WHEN_OVER = 256;
/** Against a caller that makes warnings without end. */
const MAX_WARNINGS = 1_000;

const UNPRINTABLE = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu;
const NO_TEXTS: readonly string[] = [];

export const createWarningRecorder = (redact: Redact = redactCredentials): WarningRecorder => new WarningList(redact);

class WarningList implements WarningRecorder {
  readonly #redact: Redact;
  #texts: string[] | undefined;

  constructor(redact: Redact) {
    this.#redact = redact;
  }

  add(given: string): void {
    if (given === "") return;
    const text = this.#redact(given);
    this.#texts ??= [];
    if (this.#texts.length < MAX_WARNINGS && !this.#texts.includes(text)) this.#texts.push(text);
  }

  get texts(): readonly string[] {
    return this.#texts ?? NO_TEXTS;
  }
}

/** The values of the `Warning` headers. */
export function warningHeaders(texts: readonly string[]): readonly string[] {
  const total = texts.reduce((sum, text) => sum + countRunes(text), 0);
  if (total <= MAX_TOTAL_RUNES) return texts.flatMap(warningHeader);
  const headers: string[] = [];
  let written = 0;
  for (const text of texts) {
    if (written >= MAX_TOTAL_RUNES) break;
    const cut = [...text].slice(0, MAX_RUNES_WHEN_OVER).join("");
    written += countRunes(cut);
    headers.push(...warningHeader(cut));
  }
  return headers;
}

function warningHeader(text: string): readonly string[] {
  const printable = text.replace(UNPRINTABLE, "");
  if (printable === "") return [];
  const quoted = `299 - "${printable.replace(/["\\]/g, "\\$&")}"`;
  // Header values are bytes to Node, one per character: UTF-8 has to be spelt out.
  return [Buffer.from(quoted).toString("latin1")];
}

const countRunes = (text: string): number => {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
};
