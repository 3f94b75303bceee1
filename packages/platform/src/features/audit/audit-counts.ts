// Counts of what an audit search finds: by equal parts of time, and by where the requests came from. Its memory does not grow with the log.

import type { AuditRecord } from "@postern/apimachinery/audit/audit-record";

/** Addresses that are counted separately; requests from all others are counted together. */
const MAX_SOURCES = 1_000;
/** Addresses in the answer. */
const SHOWN_SOURCES = 10;

export type CountedParts = {
  /** RFC 3339: the begin of the first part, and the end of the last. */
  readonly from: string;
  readonly until: string;
  /** The number of requests in each part, oldest first. */
  readonly requests: readonly number[];
  /** 401, 403 and 429 among them. */
  readonly refused: readonly number[];
  /** The most frequent first. */
  readonly sources: readonly { readonly sourceIP: string; readonly requests: number; readonly refused: number }[];
  /** How many more addresses there are; at least so many where there are very many. */
  readonly moreSources: number;
};

/** Without a valid credential, without a right, or over a limit. */
export const isRefusal = (code: number): boolean => code === 401 || code === 403 || code === 429;

export class AuditCounts {
  readonly #requests: number[];
  readonly #refused: number[];
  readonly #sources = new Map<string, { requests: number; refused: number }>();
  readonly #until: number;
  #from: number | undefined;
  #hasMore = false;

  /** `from` and `until` in milliseconds since the epoch. Without `from`, the first part begins with the first record. */
  constructor(parts: number, from: number | undefined, until: number) {
    this.#requests = Array.from({ length: parts }, () => 0);
    this.#refused = [...this.#requests];
    this.#from = from;
    this.#until = until;
  }

  add({ time, code, sourceIP }: Pick<AuditRecord, "time" | "code" | "sourceIP">): void {
    const at = Date.parse(time);
    if (Number.isNaN(at)) return;
    this.#from ??= at;
    const parts = this.#requests.length;
    const share = (at - this.#from) / Math.max(this.#until - this.#from, 1);
    const part = Math.min(Math.max(Math.floor(share * parts), 0), parts - 1);
    this.#requests[part] = (this.#requests[part] ?? 0) + 1;
    if (isRefusal(code)) this.#refused[part] = (this.#refused[part] ?? 0) + 1;
    this.#addSource(sourceIP, isRefusal(code));
  }

  #addSource(sourceIP: string, isRefused: boolean): void {
    let source = this.#sources.get(sourceIP);
    if (source === undefined) {
      if (this.#sources.size >= MAX_SOURCES) {
        this.#hasMore = true;
        return;
      }
      source = { requests: 0, refused: 0 };
      this.#sources.set(sourceIP, source);
    }
    source.requests++;
    if (isRefused) source.refused++;
  }

  read(): CountedParts {
    const sources = [...this.#sources]
      .map(([sourceIP, counts]) => ({ sourceIP, ...counts }))
      .sort((one, other) => other.requests - one.requests);
    const shown = sources.slice(0, SHOWN_SOURCES);
    return {
      from: new Date(this.#from ?? this.#until).toISOString(),
      until: new Date(this.#until).toISOString(),
      requests: this.#requests,
      refused: this.#refused,
      sources: shown,
      moreSources: sources.length - shown.length + (this.#hasMore ? 1 : 0),
    };
  }
}
