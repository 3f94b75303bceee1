// All functions of validation rules, and the choice of the one that a call means.
// Source: k8s.io/apiserver/pkg/cel/environment/base.go

import { type CelType, EXTENSION_TYPES } from "../cel-type.ts";
import {
  CelBytes,
  CelDuration,
  CelExtension,
  CelList,
  CelMap,
  CelOptional,
  CelTimestamp,
  CelTypeValue,
  CelUint,
  type CelValue,
  failCel,
  typeNameOf,
} from "../cel-value.ts";
import type { CelNames } from "../parse-cel.ts";
import { authorizerFunctions } from "./authorizer-functions.ts";
import { conversionFunctions } from "./conversion-functions.ts";
import { formatFunctions } from "./format-functions.ts";
import { ipFunctions } from "./ip-functions.ts";
import { listFunctions } from "./list-functions.ts";
import { operators } from "./operators.ts";
import { optionalFunctions } from "./optional-functions.ts";
import type { CelOverload, SpendCost } from "./overload.ts";
import { quantityFunctions } from "./quantity-functions.ts";
import { regexFunctions } from "./regex-functions.ts";
import { semverFunctions } from "./semver-functions.ts";
import { setFunctions } from "./set-functions.ts";
import { stringFunctions } from "./string-functions.ts";
import { timeFunctions } from "./time-functions.ts";
import { urlFunctions } from "./url-functions.ts";

const ORDERED_TYPES = "bool bytes double google.protobuf.Duration int string google.protobuf.Timestamp uint".split(" ");

const OVERLOADS = new Map<string, CelOverload[]>();
for (const overload of [
  ...operators,
  ...conversionFunctions,
  ...stringFunctions,
  ...listFunctions,
  ...setFunctions,
  ...regexFunctions,
  ...timeFunctions,
  ...optionalFunctions,
  ...quantityFunctions,
  ...ipFunctions,
  ...urlFunctions,
  ...formatFunctions,
  ...semverFunctions,
  ...authorizerFunctions,
]) {
  const known = OVERLOADS.get(overload.name);
  if (known === undefined) OVERLOADS.set(overload.name, [overload]);
  else known.push(overload);
}

export const overloadsOf = (name: string): readonly CelOverload[] => OVERLOADS.get(name) ?? [];

/** Types as values, by the name that rules have for them. */
export const TYPE_VALUES: ReadonlyMap<string, CelTypeValue> = new Map(
  [
    ...["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint", "optional_type"],
    ...["google.protobuf.Timestamp", "google.protobuf.Duration", EXTENSION_TYPES.ip, EXTENSION_TYPES.cidr],
  ].map((name) => [name, new CelTypeValue(name)]),
);

export const CEL_NAMES: CelNames = {
  functions: new Set([...OVERLOADS.keys()].filter((name) => name.includes("."))),
  types: new Set([...TYPE_VALUES.keys()].filter((name) => name.includes("."))),
};

/** Throws CelEvaluationError where no function of that name takes the arguments. */
export function callCelFunction(
  name: string,
  isMethod: boolean,
  args: readonly CelValue[],
  spend?: SpendCost,
): CelValue {
  for (const overload of overloadsOf(name)) {
    const { parameters } = overload;
    if (overload.isMethod !== isMethod || parameters.length !== args.length) continue;
    if (parameters.every((type, index) => fits(args[index] ?? null, type))) return overload.apply(args, spend);
  }
  return failCel(withoutOverload(name, args.map(typeNameOf)));
}

/** Functions that upstream leaves to their first argument, and the types whose values know them. */
const OWNERS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    "_+_ _-_": ["double", "google.protobuf.Duration", "int", "google.protobuf.Timestamp", "uint"],
    "_*_ _/_": ["double", "int", "uint"],
    "_%_": ["int", "uint"],
    "-_": ["double", "int", "google.protobuf.Duration"],
    "!_": ["bool"],
    "_<_ _<=_ _>_ _>=_": ORDERED_TYPES,
    "size sort": ["string", "google.protobuf.Duration", "google.protobuf.Timestamp"],
  }).flatMap(([names, types]) => names.split(" ").map((name) => [name, types])),
);
const JOINED = ["string", "bytes", "list"];
const TEXT_FUNCTIONS = new Set(["startsWith", "endsWith", "contains", "matches"]);

/** Upstream's words where no overload takes the arguments. */
function withoutOverload(name: string, types: readonly string[]): string {
  const owners = OWNERS.get(name);
  const [first = ""] = types;
  const why = "no such overload";
  if (owners !== undefined) {
    return owners.includes(first) || (name === "_+_" && JOINED.includes(first)) ? why : `${why}: ${name}`;
  }
  return TEXT_FUNCTIONS.has(name) || !/^\w/.test(name) || name.startsWith("_")
    ? why
    : `${why}: ${name}(${types.join(", ")})`;
}

function fits(value: CelValue, type: CelType): boolean {
  switch (type.kind) {
    case "bool":
      return typeof value === "boolean";
    case "int":
      return typeof value === "bigint";
    case "double":
      return typeof value === "number";
    case "string":
      return typeof value === "string";
    case "uint":
      return value instanceof CelUint;
    case "bytes":
      return value instanceof CelBytes;
    case "timestamp":
      return value instanceof CelTimestamp;
    case "duration":
      return value instanceof CelDuration;
    case "null":
      return value === null;
    case "list":
      return value instanceof CelList;
    case "map":
    case "object":
      return value instanceof CelMap;
    case "optional":
      return value instanceof CelOptional;
    case "type":
      return value instanceof CelTypeValue;
    case "extension":
      return value instanceof CelExtension && value.typeName === type.name;
    case "dyn":
    case "parameter":
    case "variable":
      return true;
  }
}
