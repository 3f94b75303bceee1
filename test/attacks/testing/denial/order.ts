// What an attacker is told by whoever measures, and what it answers.

import type { Counts, Target } from "./attack.ts";

export type Order =
  | { readonly type: "attack"; readonly name: string; readonly target: Target }
  /** Ends the attack. */
  | { readonly type: "stop" }
  | { readonly type: "counts" };

/** By outcome, since the attack began. */
export type Report = Counts;
