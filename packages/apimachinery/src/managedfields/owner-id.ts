// The identity of an owner: who writes, how, through which version and subresource.
// Source: k8s.io/apimachinery/pkg/util/managedfields/internal/managedfields.go (BuildManagerIdentifier)

import { quoteGo } from "../text/go-quote.ts";

export type OwnerIdentity = {
  readonly manager: string;
  readonly operation: "Apply" | "Update";
  /** Absent for appliers, who stay the same across versions. */
  readonly apiVersion?: string;
  /** Absent for the main resource. */
  readonly subresource?: string;
};

/** A key for maps of owners, which orders them as upstream does. */
export const formatOwnerId = ({ manager, operation, apiVersion, subresource }: OwnerIdentity): string =>
  JSON.stringify({
    manager,
    operation,
    ...(operation === "Apply" ? {} : { apiVersion }),
    ...(subresource === undefined || subresource === "" ? {} : { subresource }),
  });

/** Reads back what `formatOwnerId` wrote. */
export const parseOwnerId = (id: string): OwnerIdentity => JSON.parse(id);

/** The owner as conflict messages name it: `"m2" with subresource "status" using v1`. */
export function describeOwner(id: string): string {
  const { manager, operation, apiVersion, subresource } = parseOwnerId(id);
  const through = subresource === undefined ? "" : ` with subresource ${quoteGo(subresource)}`;
  return `${quoteGo(manager)}${through}${operation === "Update" ? ` using ${apiVersion}` : ""}`;
}
