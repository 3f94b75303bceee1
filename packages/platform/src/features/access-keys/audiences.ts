// Receivers that a key is accepted by: spec.audiences. A server that gets a key for its own audience cannot use it at the platform.

import type { PlatformNames } from "@postern/api/platform-names";

/** Names of receivers, compared exactly; none: the key is for all of them. */
export type Audiences = readonly string[];

/** Each request and each review looks at all of them. */
export const MAX_AUDIENCES = 16;

/** The audience of the management API. */
export const platformAudience = ({ name }: Pick<PlatformNames, "name">): string => `${name}:platform`;

export const isForAudience = (audiences: Audiences, audience: string): boolean =>
  audiences.length === 0 || audiences.includes(audience);

/** Whether a key for `inner` is accepted by no receiver that a key for `outer` is not. */
export const isWithinAudiences = (inner: Audiences, outer: Audiences): boolean =>
  outer.length === 0 || (inner.length > 0 && inner.every((audience) => outer.includes(audience)));

/** Audiences that are in both. Undefined: none is. */
export function commonAudiences(one: Audiences, other: Audiences): Audiences | undefined {
  if (one.length === 0) return other;
  if (other.length === 0) return one;
  const inBoth = one.filter((audience) => other.includes(audience));
  return inBoth.length === 0 ? undefined : inBoth;
}
