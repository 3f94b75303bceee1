// The names and the budget of one evaluation, and the cost of walking over values.

import type { CelMeter } from "./cel-budget.ts";
import type { CelValue } from "./cel-value.ts";

/** The names that an expression may use, such as `self`. */
export type CelScope = { readonly [name: string]: CelValue };

export type CelEvaluation = { readonly names: CelScope; readonly meter: CelMeter };

/** Upstream has literals, and what a loop goes over, for nothing. They take time all the same: a loop of a few steps may have thousands of either. */
export const ITEM_COST = 0.1;

export const ENTRY_COST = 0.3;
