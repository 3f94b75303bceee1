// Answers of 500 and more that are no stumbling. Most are those that kube-apiserver itself gives to a client's mistakes, text by text: matching
// it, Postern gives them too.

import type { PlatformAnswer } from "../../../packages/platform/src/testing/running-platform.ts";

const TEXTS: readonly RegExp[] = [
  /^resourceVersion should not be set on objects to be created$/,
  /^failed to create typed patch object \(/,
  // An apply of a kind with quantities, of which one cannot be read.
  /^failed to convert new object \(\S*; \S+, Kind=\w+\) to proper version: unable to convert unstructured object to \S+, Kind=\w+: quantities must match the regular expression /,
  // The first apply to an object that has an entry without the key of its list: skipnonapplied.go.
  /^failed to create manager for existing fields: \.[\w.]+: element \d+: associative list with keys has an element that omits all key fields /,
  /^Object 'apiVersion' is missing in /,
  /^strconv\.ParseUint: parsing /,
  // Of DeleteOptions.
  /^json: cannot unmarshal .+ into Go struct field (DeleteOptions|Preconditions)\./s,
  /^couldn't get version\/kind; json parse error: /,
  /^no kind ".*" is registered for version ".*" in scheme /s,
];

/** Upstream leaves the reason out of them, which is how clients tell them from failures. */
export const isUpstreamsOwn = ({ status, body }: Pick<PlatformAnswer, "status" | "body">): boolean =>
  status === 500 && body?.reason === undefined && TEXTS.some((text) => text.test(body?.message ?? ""));

/** Of an instance of which an earlier body said that it connects to the platform by itself: the answer is about that, and says so. */
export const isUnreachable = ({ status, body }: PlatformAnswer): boolean =>
  status === 503 && body?.details?.causes?.[0]?.reason === "NetworkPeerNotServed";
