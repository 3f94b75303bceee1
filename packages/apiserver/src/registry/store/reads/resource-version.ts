// Reads resourceVersion texts as the bounds they are, and waits until the cache has reached one.
// Source: k8s.io/apiserver/pkg/storage/api_object_versioner.go

import { ApiError, tooLargeResourceVersionError, untypedError } from "@postern/apimachinery/meta/api-error";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import type { WatchCache } from "../../../cache/watch-cache.ts";
import type { Revision } from "../../../storage/storage.ts";
import { FutureRevisionError } from "../../../storage/storage-errors.ts";

const MAX_UINT64 = 2n ** 64n - 1n;
const MAX_UINT64_DIGITS = 20;
/** Of so many digits a double has each. */
const SAFE_DIGITS = 15;

/** "" and "0" read as 0. Throws the reason-less 500 of Kubernetes for anything that is not an unsigned integer. */
export function parseResourceVersion(text: string): Revision {
  if (text === "") return 0;
  if (!/^\d+$/.test(text)) throw untypedError(`strconv.ParseUint: parsing ${quoteGo(text)}: invalid syntax`);
  if (text.length <= SAFE_DIGITS) return Number(text);
  // BigInt takes more than linear time, and the text may be that of a body.
  const digits = text.replace(/^0+(?=\d)/, "");
  if (digits.length > MAX_UINT64_DIGITS || BigInt(digits) > MAX_UINT64)
    throw untypedError(`strconv.ParseUint: parsing ${quoteGo(text)}: value out of range`);
  const revision = Number(text);
  // No store gets that far: whatever cannot be represented is simply in the future.
  return Number.isSafeInteger(revision) ? revision : Number.MAX_SAFE_INTEGER;
}

/** As parseResourceVersion, with the text that list and watch give. */
export function parseListResourceVersion(text: string): Revision {
  try {
    return parseResourceVersion(text);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw untypedError(`resourceVersion: Invalid value: ${quoteGo(text)}: ${error.message}`);
  }
}

/** Whether there is nothing to wait for. */
export const isFreshNow = (cache: WatchCache, resourceVersion: Revision | ""): boolean =>
  resourceVersion === "" ? cache.isNewest() : resourceVersion <= cache.revision;

/**
 * Waits until the cache may answer a read bounded by `resourceVersion`: "" means the newest acknowledged state, "0" whatever is
 * there, and N anything not older than N. Rejects with 504 when N is not reached in time.
 */
export async function awaitFreshness(
  cache: WatchCache,
  resourceVersion: Revision | "",
  waiting: { readonly signal: AbortSignal },
): Promise<void> {
  if (resourceVersion === "") {
    await cache.refresh(waiting);
    return;
  }
  if (resourceVersion <= cache.revision) return;
  try {
    await cache.waitFor(resourceVersion, waiting);
  } catch (error) {
    if (error instanceof FutureRevisionError) throw tooLargeResourceVersionError(resourceVersion, error.current);
    throw error;
  }
}
