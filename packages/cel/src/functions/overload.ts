// Declares functions of expressions: a signature and an implementation.

import { type CelType, readCelType } from "../cel-type.ts";
import type {
  CelBytes,
  CelDuration,
  CelList,
  CelMap,
  CelOptional,
  CelTimestamp,
  CelTypeValue,
  CelUint,
  CelValue,
} from "../cel-value.ts";

export type CelOverload = {
  readonly name: string;
  /** Called on its first argument: `text.size()`. */
  readonly isMethod: boolean;
  readonly parameters: readonly CelType[];
  readonly result: CelType;
  /** The arguments fit the parameters. Throws CelEvaluationError. */
  readonly apply: (args: readonly CelValue[], spend?: SpendCost) => CelValue;
};

/** Spends the cost of a function beyond that of its arguments; throws when the budget is used up. */
export type SpendCost = (cost: number) => void;

type Natives = {
  readonly bool: boolean;
  readonly int: bigint;
  readonly uint: CelUint;
  readonly double: number;
  readonly string: string;
  readonly bytes: CelBytes;
  readonly timestamp: CelTimestamp;
  readonly duration: CelDuration;
  readonly null: null;
  readonly type: CelTypeValue;
};

type NativeOf<T extends string> = T extends keyof Natives
  ? Natives[T]
  : T extends `list<${string}`
    ? CelList
    : T extends `map<${string}`
      ? CelMap
      : T extends `optional<${string}`
        ? CelOptional
        : CelValue;

type NativesOf<P extends readonly string[]> = { readonly [I in keyof P]: NativeOf<P[I]> };

type Declare = <const P extends readonly string[]>(
  name: string,
  parameters: P,
  result: string,
  apply: (...args: NativesOf<P>) => CelValue,
) => CelOverload;

/** `size(x)` */
export const celFunction: Declare = (name, parameters, result, apply) =>
  declare(name, false, parameters, result, apply);

/** `x.size()`: the first parameter is what it is called on. */
export const celMethod: Declare = (name, parameters, result, apply) => declare(name, true, parameters, result, apply);

function declare<const P extends readonly string[]>(
  name: string,
  isMethod: boolean,
  parameters: P,
  result: string,
  apply: (...args: NativesOf<P>) => CelValue,
): CelOverload {
  return {
    name,
    isMethod,
    parameters: parameters.map(readCelType),
    result: readCelType(result),
    // The caller has matched every argument with its parameter, which NativesOf says of the types.
    apply: (args) => apply(...(args as unknown as NativesOf<P>)),
  };
}

/** A function of which only its own work shows what it costs. */
export const costingMethod = <const P extends readonly string[]>(
  name: string,
  parameters: P,
  result: string,
  apply: (spend: SpendCost, ...args: NativesOf<P>) => CelValue,
): CelOverload => costing(celMethod, name, parameters, result, apply);

export const costingFunction = <const P extends readonly string[]>(
  name: string,
  parameters: P,
  result: string,
  apply: (spend: SpendCost, ...args: NativesOf<P>) => CelValue,
): CelOverload => costing(celFunction, name, parameters, result, apply);

function costing<const P extends readonly string[]>(
  declareAs: Declare,
  name: string,
  parameters: P,
  result: string,
  apply: (spend: SpendCost, ...args: NativesOf<P>) => CelValue,
): CelOverload {
  return {
    ...declareAs(name, parameters, result, (...args) => apply(() => {}, ...args)),
    apply: (args, spend = () => {}) => apply(spend, ...(args as unknown as NativesOf<P>)),
  };
}

/** This many steps of a pattern take as long as a unit of cost. */
const STEPS_PER_COST = 40;

/** Spends the steps of a pattern, in units of cost. */
export const inSteps =
  (spend: SpendCost) =>
  (steps: number): void =>
    spend(steps / STEPS_PER_COST);
