// Orders that the measuring process sends to an attacker, and the attacker's answers.

import type { Counts, Target } from "./attack.ts";

export type Order =
  | { readonly type: "attack"; readonly name: string; readonly target: Target }
  /** Ends the attack. */
  | { readonly type: "stop" }
  | { readonly type: "counts" };

/** By outcome, since the attack began. */
export type Report = Counts;
