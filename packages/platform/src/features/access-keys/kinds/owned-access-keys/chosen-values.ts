// Values that clients choose for their keys: compared with those of all keys, and claimed with the write, so that each value has one key for ever.

import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import { invalidObjectError } from "@postern/apimachinery/meta/api-error";
import type { GroupKind } from "@postern/apimachinery/meta/group-version";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Reservation } from "@postern/apiserver/registry/strategy";
import type { Directory } from "../../../directory/directory.ts";
import { ownerOf, ownerOfCaller, ownerUid } from "../../access-key-owner.ts";
import type { GuessRateLimit } from "../../chosen-values/guess-rate-limit.ts";
import type { Claimant, ValueClaims } from "../../chosen-values/unique-values.ts";
import type { AccessKeySecrets } from "../../secrets/access-key-secrets.ts";
import type { CreatorLimitsDeps } from "./creator-limits.ts";
import { unfitKeyError, type ValidationDeps } from "./validation.ts";

export type ChosenValues = {
  /**
   * Compares the chosen value of a request with current and former ones, in the same time for any value; other faults of it are found later. Throws
   * ApiError 429.
   */
  compare(object: OwnedAccessKey, context: RequestContext): Promise<void> | undefined;
  /** For the validation of a request that was compared. */
  foundIn(context: RequestContext): Pick<ValidationDeps, "isOwnValue" | "isTaken" | "isChosen">;
  /** Claims the chosen value. Undefined for a request without one. Rejects with ApiError 422 if a concurrent write has claimed it. */
  reserve(object: OwnedAccessKey, context: RequestContext): Promise<Reservation> | undefined;
  /** Rejects as `reserve` does where there is no room for another value. */
  rehearse(object: OwnedAccessKey, context: RequestContext): Promise<void> | undefined;
};

export type ChosenValuesDeps = Pick<CreatorLimitsDeps, "names" | "directory" | "keys"> & {
  readonly secrets: AccessKeySecrets;
  readonly valueClaims: ValueClaims;
  readonly comparisons: GuessRateLimit;
};

export function createChosenValues(deps: ChosenValuesDeps, kind: GroupKind): ChosenValues {
  const { keys, directory, valueClaims, comparisons } = deps;
  /** The values that requests chose, and whether another key has or had them. */
  const chosen = new WeakMap<RequestContext, { readonly value: string; readonly isTaken: boolean }>();

  async function claim(value: string, object: OwnedAccessKey): Promise<Reservation> {
    const taken = await valueClaims.take(value, claimantOf(object, directory));
    if (taken !== undefined) return taken;
    // A concurrent write was faster: the same answer as a moment later.
    throw invalidObjectError(kind, object.metadata.name ?? "", [unfitKeyError()]);
  }

  return {
    compare(object, context) {
      const { key: value = "" } = object.spec ?? {};
      // The server's own requests have generated values.
      if (value === "" || context.credential === undefined) return undefined;
      comparisons.spend("chosen", context);
      const isHeld = keys.find(value) !== undefined;
      return valueClaims.isTaken(value, claimantOf(object, directory)).then((wasHeld) => {
        chosen.set(context, { value, isTaken: isHeld || wasHeld });
      });
    },
    foundIn: (context) => ({
      // All of the caller's keys would be gone through for nothing.
      isOwnValue: keys.mayHaveChosenValues() ? ownValuesOf(context, deps) : undefined,
      isTaken: chosen.get(context)?.isTaken === true,
      isChosen: chosen.has(context),
    }),
    reserve(object, context) {
      const value = chosen.get(context)?.value;
      return value === undefined ? undefined : claim(value, object);
    },
    rehearse(object, context) {
      const value = chosen.get(context)?.value;
      return value === undefined ? undefined : valueClaims.checkRoom(value, claimantOf(object, directory));
    },
  };
}

/**
 * Whether a text is a value of one of the caller's own keys, or of the one that the request came in with. It is compared with those alone: of other
 * people's keys no text can tell anything. Throws ApiError 429.
 */
function ownValuesOf(
  context: RequestContext,
  { names, directory, keys, secrets, comparisons }: ChosenValuesDeps,
): (text: string) => boolean {
  let own: ReadonlySet<string> | undefined;
  return (text) => {
    if (own === undefined) {
      const presented = context.credential === undefined ? undefined : keys.byId(context.credential.id);
      const owned = keys.ownedBy(ownerOfCaller(context.user, directory, names));
      // The others are found by their form.
      const values = [...owned, ...(presented === undefined ? [] : [presented])].flatMap((key) =>
        keys.valuesOf(key.name),
      );
      own = new Set(values.filter(({ structured }) => !structured).map(({ digest }) => digest));
    }
    if (own.size === 0) return false;
    comparisons.spend("text", context);
    const found = own;
    return secrets.digestsOf(text).some((digest) => found.has(Buffer.from(digest).toString("base64url")));
  };
}

/** The key that wants a value. */
function claimantOf({ metadata, spec }: OwnedAccessKey, directory: Directory): Claimant {
  const owner = ownerOf(spec ?? {});
  return {
    uid: metadata.uid ?? "",
    name: metadata.name ?? "",
    owner: owner && { ...owner, uid: ownerUid(owner, directory) },
  };
}
