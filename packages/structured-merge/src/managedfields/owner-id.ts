// The identity of an owner: the manager, its operation, and the version and subresource that it writes through.
// Source: k8s.io/apimachinery/pkg/util/managedfields/internal/managedfields.go (BuildManagerIdentifier)

import { quoteGo } from "@postern/apimachinery/text/go-quote";

export type OwnerIdentity = {
  readonly manager: string;
  readonly operation: "Apply" | "Update";
  /** Absent for appliers, which stay the same across versions. */
  readonly apiVersion?: string;
  /** Absent for the main resource. */
  readonly subresource?: string;
};

/** Not part of any name: it is no printable character. */
const SEPARATOR = "\n";

/** A key for maps of owners. Keys sort by manager first. */
export const formatOwnerId = ({ manager, operation, apiVersion = "", subresource = "" }: OwnerIdentity): string =>
  [manager, operation, operation === "Apply" ? "" : apiVersion, subresource].join(SEPARATOR);

/** Parses the result of `formatOwnerId`; absent parts become "". */
export function parseOwnerId(id: string): Required<OwnerIdentity> {
  const [manager = "", operation, apiVersion = "", subresource = ""] = id.split(SEPARATOR);
  return { manager, operation: operation === "Apply" ? "Apply" : "Update", apiVersion, subresource };
}

/** True for texts that may be part of an owner's identity. */
export const isOwnerName = (name: string): boolean => !name.includes(SEPARATOR);

/** The owner as conflict messages name it: `"m2" with subresource "status" using v1`. */
export function describeOwner(id: string): string {
  const { manager, operation, apiVersion, subresource } = parseOwnerId(id);
  const through = subresource === "" ? "" : ` with subresource ${quoteGo(subresource)}`;
  return `${quoteGo(manager)}${through}${operation === "Update" ? ` using ${apiVersion}` : ""}`;
}
