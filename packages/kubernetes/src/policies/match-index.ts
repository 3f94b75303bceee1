// Webhooks and policies by operation, API group and resource of their rules, so that a request looks only at those that may be about it.

import type { AdmissionAttributes } from "@postern/apiserver/registry/admission-plugin";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { MatchRule } from "./validating-admission-policy.ts";

/** A rule with more pairs of groups and resources counts as one about everything. */
const MAX_PAIRS = 64;

export class MatchIndex<T> {
  /** Candidates that were handed out, for tests. */
  visited = 0;
  readonly #values: readonly T[];
  readonly #byKey = new Map<string, number[]>();

  /** Without rules, a value may be about every request. */
  constructor(values: readonly T[], rulesOf: (value: T) => readonly MatchRule[] | undefined) {
    this.#values = values;
    for (const [at, value] of values.entries()) {
      for (const key of keysOf(rulesOf(value))) {
        const known = this.#byKey.get(key);
        if (known === undefined) this.#byKey.set(key, [at]);
        else known.push(at);
      }
    }
  }

  /** The rules that may match the request in one of its versions, in their order. */
  candidates({ operation }: Pick<AdmissionAttributes, "operation">, versions: readonly Place[]): readonly T[] {
    const operations = new Set([operation.toUpperCase(), "*"]);
    const groups = new Set([...versions.map(({ group }) => group), "*"]);
    const plurals = new Set([...versions.map(({ plural }) => plural), "*"]);
    const found = new Set<number>();
    for (const asked of operations) {
      for (const group of groups) {
        for (const plural of plurals) {
          for (const at of this.#byKey.get(`${asked}/${group}/${plural}`) ?? []) found.add(at);
        }
      }
    }
    this.visited += found.size;
    return [...found].sort((one, other) => one - other).flatMap((at) => this.#values.slice(at, at + 1));
  }
}

type Place = Pick<ResourceDefinition, "group" | "plural">;

function keysOf(rules: readonly MatchRule[] | undefined): ReadonlySet<string> {
  if (rules === undefined) return new Set(["*/*/*"]);
  const keys = new Set<string>();
  for (const { operations = [], apiGroups = [], resources = [] } of rules) {
    const groups = new Set(apiGroups);
    const plurals = new Set(resources.map((pattern) => pattern.split("/")[0] ?? ""));
    const isWide = groups.size * plurals.size > MAX_PAIRS;
    for (const operation of new Set(operations)) {
      if (isWide) keys.add(`${operation}/*/*`);
      else for (const group of groups) for (const plural of plurals) keys.add(`${operation}/${group}/${plural}`);
    }
  }
  return keys;
}
