// The hash chain of an audit log: each line carries the hash of the line before it.

/** The annotation that carries it. */
export const PREVIOUS_LINE_ANNOTATION = "audit-chain/previous-line-sha256";

/**
 * The annotation that seals a line where the log has a key: an HMAC-SHA-256 of the line as it is without this annotation, which is the
 * last thing in it.
 */
export const SEAL_ANNOTATION = "audit-chain/hmac-sha256";

const SEAL = new RegExp(`,"${SEAL_ANNOTATION}":"([0-9a-f]{64})"}}$`);

/** The line with its seal; `text` ends with the annotations of the event. */
export const sealedLine = (text: string, hmac: (text: string) => string): string =>
  `${text.slice(0, -2)},"${SEAL_ANNOTATION}":"${hmac(text)}"}}`;

/** Whether a line is sealed with the key of `hmac`. */
export function isSealed(line: string, hmac: (text: string) => string): boolean {
  // The seal is at the end of a line of any length.
  const [tail, seal] = SEAL.exec(line.slice(-SEAL_ANNOTATION.length - 80)) ?? [];
  return tail !== undefined && hmac(`${line.slice(0, -tail.length)}}}`) === seal;
}

/**
 * The annotation of a line after one that was written in part, because the disk was full or the server was killed: the server noticed, and continues
 * from the hash of the part.
 */
export const TORN_LINE_ANNOTATION = "audit-chain/follows-torn-line";

/** Several of them in a row are confirmed together: the chain has the hash of all, with the line breaks between them. */
export const tornRun = (parts: readonly string[]): string => parts.join("\n");

/** Chain value that the very first line carries. */
export const CHAIN_START = "0".repeat(64);

export type ChainError = {
  /** Counted from 1. */
  readonly line: number;
  readonly fault: "not-json" | "not-chained" | "broken" | "not-sealed";
};

/** Lines that were written in part, and their texts. */
export type TornEnd = { readonly lines: readonly number[]; readonly texts: readonly string[] };

export type ChainReport = {
  readonly lines: number;
  readonly faults: readonly ChainError[];
  /** Lines that were written in part, which the line after them confirms. Counted from 1; 0 are those at the end of the file before. */
  readonly torn: readonly number[];
  /** Last lines that were written in part: the first line of the next file may confirm them. */
  readonly tornEnd: TornEnd | undefined;
  /** The hash that the first line must have for the line before it. */
  readonly startsAfter: string;
  /** The hash of the last line: what the next one must carry. */
  readonly endsWith: string;
  /** Whether the line of the wanted hash was among them. */
  readonly holdsWanted: boolean;
};

/**
 * Reads lines one at a time. `sha256` gives lower-case hexadecimal of the UTF-8 of a text. `wanted` is the hash of a line that was
 * there before: a chain alone does not tell that its end was cut off. With `hmac` every line has to be sealed by its key: a
 * chain can be written anew without the key, its seals cannot. `follows` is the end of the file before, where it was written
 * in part.
 */
export function createChainReader(
  sha256: (text: string) => string,
  startsAfter?: string,
  wanted?: string,
  hmac?: (text: string) => string,
  follows?: TornEnd,
) {
  const faults: ChainError[] = [];
  const torn: number[] = [];
  /** The lines before, where they are no JSON. */
  let unread: TornEnd | undefined = follows && { lines: [0], texts: follows.texts };
  let lines = 0;
  let first: string | undefined = startsAfter;
  let expected: string | undefined = startsAfter;
  let holdsWanted = false;
  return {
    /** Without the line break. */
    read(text: string): void {
      lines++;
      const carried = previousLineOf(text);
      if (carried.fault === "not-json") {
        const { lines: before, texts } = unread ?? { lines: [], texts: [] };
        unread = { lines: [...before, lines], texts: [...texts, text] };
        expected = sha256(tornRun(unread.texts));
        holdsWanted ||= expected === wanted;
        return;
      }
      if (unread !== undefined) {
        const isSeen = carried.fault === undefined && carried.followsTorn && carried.hash === expected;
        if (isSeen && (hmac === undefined || isSealed(text, hmac))) torn.push(...unread.lines);
        else faults.push(...unread.lines.map((line): ChainError => ({ line, fault: "not-json" })));
        unread = undefined;
      }
      if (carried.fault !== undefined) faults.push({ line: lines, fault: carried.fault });
      else {
        first ??= carried.hash;
        if (hmac !== undefined && !isSealed(text, hmac)) faults.push({ line: lines, fault: "not-sealed" });
        else if (expected !== undefined && carried.hash !== expected) faults.push({ line: lines, fault: "broken" });
      }
      expected = sha256(text);
      holdsWanted ||= expected === wanted;
    },
    report: (): ChainReport => ({
      lines,
      faults,
      torn,
      tornEnd: unread,
      startsAfter: first ?? CHAIN_START,
      endsWith: expected ?? CHAIN_START,
      holdsWanted,
    }),
  };
}

type Carried =
  | { readonly hash: string; readonly followsTorn: boolean; readonly fault?: undefined }
  | { readonly fault: "not-json" | "not-chained" };

function previousLineOf(text: string): Carried {
  let event: unknown;
  try {
    event = JSON.parse(text);
  } catch {
    // A server that was killed leaves half a line; the next one follows it all the same.
    return { fault: "not-json" };
  }
  const annotations = memberOf(event, "annotations");
  const hash = memberOf(annotations, PREVIOUS_LINE_ANNOTATION);
  if (typeof hash !== "string") return { fault: "not-chained" };
  return { hash, followsTorn: memberOf(annotations, TORN_LINE_ANNOTATION) === "true" };
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as { readonly [member: string]: unknown })[name]
    : undefined;
