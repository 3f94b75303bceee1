// POST ownedaccesskeys/{name}/rotate: a new value for a key. The old value may stay valid until the new one is used.

import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import { wrappedField } from "@postern/api/wrapped-value";
import { ISSUED_CREDENTIAL_ANNOTATION } from "@postern/apimachinery/audit/audit-annotations";
import { conflictError, invalidObjectError, isApiError } from "@postern/apimachinery/meta/api-error";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { type FieldError, invalidError, requiredError } from "@postern/apimachinery/validation/field-error";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Subresource } from "@postern/apiserver/registry/resource-definition";
import type { ResourceStorage } from "@postern/apiserver/registry/resource-storage";
import { createOptionsOf, isDryRun } from "@postern/apiserver/request/query-options";
import { wrapMsOf } from "../../../../wrapped-values/wrap-request.ts";
import { ownerOf } from "../../../access-key-owner.ts";
import { specOf, withKey } from "../../../chosen-values/secret-fields.ts";
import { keyEvent, type RecordKeyEvent } from "../../../key-events.ts";
import { originsOf } from "../../../key-origins.ts";
import { retiredByNonce, rotateValue } from "../../../rotation/rotate-value.ts";
import type { SealedRecordWriter } from "../../../rotation/sealed-record-writer.ts";
import type { AccessKeySecrets } from "../../../secrets/access-key-secrets.ts";
import { type CreatorLimitsDeps, checkCreator } from "../creator-limits.ts";
import { checkDelivery, deliverValue, type SecretDeliveryDeps } from "../delivery-secret.ts";
import { othersOf } from "../sealed-fields.ts";
import { type WrapKeyDeps, wrapKey, wrappedTwiceError } from "../wrap-key.ts";
import { countDescendants, type DescendantDeps } from "./count-descendants.ts";
import { visibleKey } from "./visible-key.ts";

/** A week: a grace is for passing the new value on, not for living with two. */
export const MAX_GRACE_SECONDS = 7 * 86_400;
const MAX_NONCE_LENGTH = 128;

export type RotateDeps = CreatorLimitsDeps &
  SecretDeliveryDeps &
  WrapKeyDeps &
  DescendantDeps & {
    readonly secrets: AccessKeySecrets;
    readonly recordEvent: RecordKeyEvent;
    /** `ownedaccesskeys` as callers reach it. */
    readonly ownKeys: () => Pick<Required<ResourceStorage>, "get">;
    /** Writes for which there must be room in the budget of the owner. */
    readonly countedRecords: SealedRecordWriter;
    /** Writes that nothing may stop. */
    readonly sealedRecords: SealedRecordWriter;
  };

const fields = s
  .object({
    spec: s
      .object({
        nonce: s
          .string()
          .describe(
            "Unique value for each rotation, chosen by the client. A repeated request with the same nonce rotates nothing and returns no value: if the value is lost, rotate again with a new nonce.",
          ),
        gracePeriodSeconds: s
          .int64({ minimum: 0 })
          .describe(
            "How long the old value stays valid, unless the new one is used earlier. 0 or unset: it becomes invalid immediately. If the old value is used after that, the key and all credentials created with it are locked, unless the value is known to have leaked.",
          ),
        compromised: s
          .boolean()
          .describe(
            "Whether the value is compromised. All credentials created with the key are then revoked, and use of old values does not lock the key. Implied if the value was reported as leaked.",
          ),
      })
      .describe("Settings of the rotation."),
    status: s
      .object({
        key: s.string().describe("The new value. Returned only once."),
        keyID: s.string().describe("Public ID of the new value."),
        previousKeyExpirationTimestamp: s.timestamp().describe("When the old value becomes invalid at the latest."),
        revokedCredentials: s
          .int64()
          .describe(
            "For a compromised value: number of access keys and certificates that were revoked because they were created with it, directly or indirectly.",
          ),
        wrapped: wrappedField,
        repeated: s.boolean().describe("Whether the nonce was used before, so that nothing was rotated."),
      })
      .describe("Result of the rotation. Read-only."),
  })
  .describe("Rotates an access key: gives it a new value.");

type OwnedAccessKeyRotation = KindOf<typeof fields>;

export const rotate = (deps: RotateDeps): Subresource => {
  const { names, secrets, recordEvent, ownKeys } = deps;
  const kind = { group: names.managementGroup, version: "v1", kind: "OwnedAccessKeyRotation" };
  return {
    name: "rotate",
    kind,
    schema: kindSchema(fields.schema),
    description: "Rotate the access key.",
    async create(context, body) {
      // The schema has been checked on the way here.
      const { spec = {} } = body as OwnedAccessKeyRotation;
      const errors = validate(spec);
      if (errors.length > 0) throw invalidObjectError(kind, context.info.name, errors);
      const object = await visibleKey(context, ownKeys());
      // As for an update that sets spec.key: the same permissions are needed.
      const wrapMs = wrapMsOf(context.request.query);
      if (wrapMs !== undefined && object.spec?.secretRef !== undefined) throw wrappedTwiceError();
      const wanted = withKey(object, secrets.generate());
      await checkCreator(context, wanted, object, deps);
      await checkDelivery(context, object, deps);
      if (isDryRun(createOptionsOf(context.request.query))) return { ...body, status: {} };

      // Before the old value is gone.
      const owner = ownerOf(object.spec ?? {});
      if (wrapMs !== undefined && owner !== undefined) await deps.wrapped.makeRoom(owner);
      const value = String(specOf(wanted)["key"]);
      const { id, until, isRepeated, revoked } = await rotateRecord(object, value, spec, context, deps);
      context.audit.annotate(ISSUED_CREDENTIAL_ANNOTATION, id);
      // The answer shows the value whatever becomes of the Secret: nothing else has it.
      if (!isRepeated) {
        await deliverValue(object, value, deps).catch(warnOfStaleSecret(context));
        recordEvent(keyEvent(object, revoked === undefined ? "Rotated" : "Compromised"));
      }
      const delivered =
        wrapMs === undefined || isRepeated
          ? { key: value }
          : { wrapped: await wrapKey(object, value, wrapMs, context, deps) };
      const revokedCredentials =
        revoked === undefined
          ? undefined
          : await countDescendants(object.metadata.uid ?? "", revoked, deps, context.signal);
      if (revokedCredentials !== undefined)
        context.audit.annotate(names.key("revoked-credentials-count"), String(revokedCredentials));
      return {
        ...body,
        status: {
          ...(isRepeated ? { repeated: true } : delivered),
          keyID: id,
          previousKeyExpirationTimestamp: formatTimestamp(until),
          ...(revokedCredentials === undefined ? {} : { revokedCredentials }),
        },
      };
    },
  };
};

type Rotation = {
  /** Public ID of the current value. */
  readonly id: string;
  /** When the old value becomes invalid, in milliseconds since the epoch. */
  readonly until: number;
  /** The nonce was used before, so that nothing was rotated. */
  readonly isRepeated: boolean;
  /** Serials of the values whose credentials are revoked with this rotation. */
  readonly revoked: { readonly from: number; readonly below: number } | undefined;
};

/** Throws ApiError 404 for a key that was deleted since it was read, and 409 for one that was created again. */
async function rotateRecord(
  { metadata: { name = "", uid = "" } }: OwnedAccessKey,
  value: string,
  { nonce = "", gracePeriodSeconds = 0, compromised = false }: NonNullable<OwnedAccessKeyRotation["spec"]>,
  context: RequestContext,
  { names, runtime, keys, secrets, ownKeys, sealedRecords, countedRecords }: RotateDeps,
): Promise<Rotation> {
  const now = runtime.clock.now();
  const caller = originsOf(context, keys);
  const nonces = secrets
    .digestsOf(`rotation ${context.user.name}\n${nonce}`)
    .map((digest) => Buffer.from(digest).toString("base64url"));
  // A value that others know is replaced even where the owner has no room left.
  const records = compromised ? sealedRecords : countedRecords;
  let rotation: Rotation | undefined;
  const isThere = await records.write({ name, uid }, (sealed) => {
    const before = retiredByNonce(sealed, nonces);
    if (before !== undefined) {
      rotation = { id: sealed.key?.id ?? "", until: before.until, isRepeated: true, revoked: undefined };
      return undefined;
    }
    const next = rotateValue(
      sealed,
      {
        nonce: nonces[0] ?? "",
        value,
        now,
        graceMs: Number(gracePeriodSeconds) * 1000,
        origins: othersOf(caller, uid, sealed),
        isCompromised: compromised,
      },
      secrets,
      (id) => keys.byId(id) !== undefined,
    );
    const isRevoking = next.childrenFrom !== sealed.childrenFrom;
    rotation = {
      id: next.key?.id ?? "",
      until: retiredByNonce(next, nonces)?.until ?? now,
      isRepeated: false,
      revoked: isRevoking ? { from: sealed.childrenFrom, below: next.childrenFrom } : undefined,
    };
    return next;
  });
  if (isThere && rotation !== undefined) return rotation;
  await visibleKey(context, ownKeys());
  throw conflictError(
    { group: names.managementGroup, resource: "ownedaccesskeys" },
    name,
    "the access key was deleted and created again",
  );
}

const warnOfStaleSecret =
  ({ warnings }: RequestContext) =>
  (error: unknown): void => {
    const why = isApiError(error) ? error.message : "internal error";
    warnings.add(`spec.secretRef: the Secret does not have the new value, rotate again: ${why}`);
  };

function validate({
  nonce,
  gracePeriodSeconds = 0,
  compromised = false,
}: NonNullable<OwnedAccessKeyRotation["spec"]>): readonly FieldError[] {
  const errors: FieldError[] = [];
  if (nonce === undefined || nonce === "") {
    errors.push(requiredError("spec.nonce", "distinguishes a repeated request from another rotation"));
  } else if (nonce.length > MAX_NONCE_LENGTH) {
    errors.push(invalidError("spec.nonce", "<hidden>", `must have at most ${MAX_NONCE_LENGTH} characters`));
  }
  if (gracePeriodSeconds > MAX_GRACE_SECONDS) {
    const why = `must be less than or equal to ${MAX_GRACE_SECONDS} seconds`;
    errors.push(invalidError("spec.gracePeriodSeconds", gracePeriodSeconds, why));
  }
  if (compromised && gracePeriodSeconds > 0) {
    const why = "not allowed for a compromised value";
    errors.push(invalidError("spec.gracePeriodSeconds", gracePeriodSeconds, why));
  }
  return errors;
}
