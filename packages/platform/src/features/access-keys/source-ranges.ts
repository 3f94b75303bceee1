// Networks that a key is accepted from: spec.allowedSourceRanges.

import { isIP } from "node:net";
import {
  type IpNetwork,
  includesNetwork,
  ipAddressOctets,
  isInNetwork,
  parseIpNetwork,
  withoutMapping,
} from "@postern/apiserver/transport/addresses/ip-networks";

/** Addresses and networks as clients write them; none: from anywhere. */
export type SourceRanges = readonly string[];

/** Each request with the key looks at all of them. */
export const MAX_SOURCE_RANGES = 64;

const parsed = new WeakMap<SourceRanges, readonly IpNetwork[]>();

function networksOf(ranges: SourceRanges): readonly IpNetwork[] {
  const known = parsed.get(ranges) ?? ranges.flatMap((range) => parseIpNetwork(range) ?? []);
  parsed.set(ranges, known);
  return known;
}

/** Whether a client at this address may use a key with these ranges. An address that is none is in no network. */
export function isFromRanges(ranges: SourceRanges, address: string): boolean {
  if (ranges.length === 0) return true;
  const bare = withoutMapping(address);
  if (isIP(bare) === 0) return false;
  const octets = ipAddressOctets(bare);
  return networksOf(ranges).some((network) => isInNetwork(network, octets));
}

/** Each use of a key compares it with those that it was created with. By `inner`, then `outer`. */
const compared = new WeakMap<SourceRanges, WeakMap<SourceRanges, boolean>>();

/** Whether a key with the ranges `inner` is accepted from nowhere but `outer`. Networks that only together cover one do not count. */
export function isWithinRanges(inner: SourceRanges, outer: SourceRanges): boolean {
  if (outer.length === 0) return true;
  if (inner.length === 0) return false;
  const known = compared.get(inner) ?? new WeakMap<SourceRanges, boolean>();
  compared.set(inner, known);
  const isWithin =
    known.get(outer) ??
    networksOf(inner).every((network) => networksOf(outer).some((wider) => includesNetwork(wider, network)));
  known.set(outer, isWithin);
  return isWithin;
}

/** Ranges for all addresses that are in both. Undefined: no address is. */
export function commonRanges(one: SourceRanges, other: SourceRanges): SourceRanges | undefined {
  if (one.length === 0) return other;
  if (other.length === 0) return one;
  const inBoth = [
    ...one.filter((range) => isWithinRanges([range], other)),
    ...other.filter((range) => isWithinRanges([range], one)),
  ];
  return inBoth.length === 0 ? undefined : [...new Set(inBoth)];
}
