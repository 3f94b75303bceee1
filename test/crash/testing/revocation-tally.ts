// Counts credentials that were ended, and what was accepted after the answer; kept in a file, so that a long run can be done in parts.

import { readFileSync, renameSync, writeFileSync } from "node:fs";

/** State of the other server when the request to end a credential was sent. */
const CIRCUMSTANCES = ["sound", "cut off", "standing still", "killed"] as const;
export type Circumstance = (typeof CIRCUMSTANCES)[number];

export type Ended = {
  readonly what: string;
  readonly circumstance: Circumstance;
  /** Requests with the credential once its end was sent. */
  readonly asked: number;
  /** Milliseconds after the answer at which a request was sent that the same server accepted, or the other. */
  readonly acceptedBySame: readonly number[];
  readonly acceptedByOther: readonly number[];
};

type Count = { ended: number; asked: number; same: number; other: number };
type Counts = { [what: string]: { [circumstance in Circumstance]?: Count } };

export type RevocationTally = {
  add(ended: Ended): void;
  ended(what: string, circumstance: "sound" | "faulty"): number;
  /** Of all kinds: how often a credential was accepted after the answer. */
  accepted(): number;
  asked(): number;
  /** A row for each of the kinds. */
  table(kinds: readonly string[]): string;
  save(): void;
};

/** Goes on with what stands in the file; keeps nothing where there is none. */
export function createRevocationTally(file?: string): RevocationTally {
  const counts = file === undefined ? {} : readCounts(file);
  const countsOf = (what: string, circumstance: "sound" | "faulty" | "any"): readonly Count[] =>
    CIRCUMSTANCES.filter((each) => circumstance === "any" || (each === "sound") === (circumstance === "sound")).flatMap(
      (each) => counts[what]?.[each] ?? [],
    );
  const all = (): readonly Count[] => Object.keys(counts).flatMap((what) => countsOf(what, "any"));
  const sum = (list: readonly Count[], of: (count: Count) => number): number =>
    list.reduce((total, count) => total + of(count), 0);
  return {
    add({ what, circumstance, asked, acceptedBySame, acceptedByOther }) {
      const count = counts[what]?.[circumstance] ?? { ended: 0, asked: 0, same: 0, other: 0 };
      counts[what] = { ...counts[what], [circumstance]: count };
      count.ended++;
      count.asked += asked;
      count.same += acceptedBySame.length;
      count.other += acceptedByOther.length;
    },
    ended: (what, circumstance) => sum(countsOf(what, circumstance), ({ ended }) => ended),
    accepted: () => sum(all(), ({ same, other }) => same + other),
    asked: () => sum(all(), ({ asked }) => asked),
    table(kinds) {
      const rows = kinds.map((what) => {
        const each = CIRCUMSTANCES.map((circumstance) => counts[what]?.[circumstance]?.ended ?? 0);
        const any = countsOf(what, "any");
        return [
          what,
          ...each,
          sum(any, ({ asked }) => asked),
          sum(any, ({ same }) => same),
          sum(any, ({ other }) => other),
        ];
      });
      const head = ["ended", ...CIRCUMSTANCES, "asked", "accepted by the same server", "by the other"];
      return [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |\n`).join("");
    },
    save() {
      if (file === undefined) return;
      // Whole or not at all: the run may be stopped at any time.
      writeFileSync(`${file}.new`, JSON.stringify(counts, undefined, 1));
      renameSync(`${file}.new`, file);
    },
  };
}

function readCounts(file: string): Counts {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return {};
    throw error;
  }
}
