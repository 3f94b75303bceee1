// POST /unwrap: exchanges a wrapped value for the credential inside, once.

import type { PlatformNames } from "@postern/api/platform-names";
import { UNWRAP_PATH, UNWRAPPED_KIND } from "@postern/api/wrapped-value";
import { ACCESS_KEY_ANNOTATION, ISSUED_CREDENTIAL_ANNOTATION } from "@postern/apimachinery/audit/audit-annotations";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { ApiError, methodNotAllowedError } from "@postern/apimachinery/meta/api-error";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { CredentialRefusedError } from "@postern/apiserver/authentication/authenticator";
import type { Handler } from "@postern/apiserver/context/request-context";
import { type ApiResponse, jsonResponse } from "@postern/apiserver/transport/api-response";
import type { Foundation } from "../../../foundation/foundation.ts";
import { allowAnybody, anonymousCallers } from "../../../foundation/http/anonymous-callers.ts";
import type { FeatureRoute } from "../../../foundation/http/feature-route.ts";
import { readJsonBody } from "../../../foundation/http/read-json-body.ts";
import type { AccessKeys } from "../../access-keys/feature.ts";
import { sourceRefusalOfKey, sourceText } from "../../access-keys/key-sources.ts";
import type { CertificateLedger } from "../../certificates/certificate-ledger.ts";
import type { Directory } from "../../directory/directory.ts";
import type { OneTimeDelivery } from "../feature.ts";
import { readingEvent } from "../reading-event.ts";
import { readingOf } from "../reading-of.ts";
import { wrappedValueAnnotation } from "../wrap-credential.ts";
import type { Reading, WrappedRecord } from "../wrapped-record.ts";

const MAX_BODY_BYTES = 4_096;
/** Jobs of many repositories may come from one address. */
const PER_SECOND = 10;
const AT_ONCE = 100;
/** Responses that contain a credential must not be cached. */
const NO_STORE = { "cache-control": "no-store" };

export type UnwrapNeeds = {
  readonly delivery: OneTimeDelivery;
  readonly keys: AccessKeys;
  readonly certificates: CertificateLedger;
  readonly directory: Pick<Directory, "user">;
};

/** The value is the credential: the caller has no identity here. */
export const unwrapRoute = (base: Foundation, needs: UnwrapNeeds): FeatureRoute => ({
  takes: (path) => path === UNWRAP_PATH,
  handle: createUnwrapRoute(base, needs),
  authenticator: anonymousCallers,
  authorizer: allowAnybody("the wrapped value is the credential"),
  // Apply regardless of the configured limits of other requests.
  rateLimits: { perSource: base.rateLimiter({ qps: PER_SECOND, burst: AT_ONCE }) },
});

function createUnwrapRoute({ names, recordEvent }: Foundation, needs: UnwrapNeeds): Handler {
  const { delivery, keys } = needs;
  return async (context) => {
    const { request, audit } = context;
    if (request.method !== "POST") throw methodNotAllowedError();
    const { value } = readJsonBody(await request.body(MAX_BODY_BYTES));
    await keys.index.whenRead();
    const reading = readingOf(context);
    const found = await delivery.values.unwrap(typeof value === "string" ? value : "", reading, (record) =>
      refusalOf(record, reading, needs),
    );
    if (found.outcome === "unknown") throw unknownError();
    const { record } = found;
    audit.annotate(wrappedValueAnnotation(names), record.id);
    const { credential } = record;
    if ("keyName" in credential) audit.annotate(ACCESS_KEY_ANNOTATION, credential.keyName);
    if (found.outcome === "read-before") throw readBeforeError(found.at);
    if (found.outcome === "revoked") throw revokedError();
    if (found.outcome === "outside") {
      throw unknownError(new CredentialRefusedError(sourceText(reading.address), undefined));
    }
    audit.annotate(
      ISSUED_CREDENTIAL_ANNOTATION,
      "keyID" in credential ? credential.keyID : `serial:${credential.serial}`,
    );
    recordEvent(readingEvent(names, record, reading, "WrappedValueRead"));
    return answer(names, found.content);
  };
}

const refused = (message: string, why: { readonly reason: string }, cause?: Error): ApiError =>
  new ApiError({ code: 403, reason: "Forbidden", message, details: { causes: [{ ...why, message }] }, cause });

/** Also from outside of the ranges of the key: the bearer does not learn that the value is good elsewhere. */
const unknownError = (cause?: Error): ApiError =>
  refused("the wrapped value is unknown or has expired", { reason: "WrappedValueUnknown" }, cause);

const readBeforeError = (at: number): ApiError =>
  refused(
    `the value was read at ${formatTimestamp(at)}, and is of no use any more: if that was not you, revoke the credential or rotate the access key`,
    { reason: "WrappedValueReadBefore" },
  );

const revokedError = (): ApiError =>
  refused("the credential inside is not valid any more", { reason: "WrappedValueRevoked" });

const answer = ({ managementGroup }: PlatformNames, content: JsonObject): ApiResponse =>
  jsonResponse(
    200,
    JSON.stringify({ kind: UNWRAPPED_KIND, apiVersion: `${managementGroup}/v1`, ...content }),
    NO_STORE,
  );

/** By the state that the credential has now. */
function refusalOf(
  { credential }: WrappedRecord,
  { address }: Reading,
  { keys: { index: keys }, certificates, directory }: UnwrapNeeds,
): "outside" | "revoked" | undefined {
  const isKey = "keyUid" in credential;
  const parentUid = isKey ? credential.keyUid : certificates.find(credential.serial)?.issuedTo?.parentUid;
  const key = parentUid === undefined ? undefined : keys.byUid(parentUid);
  if (isKey && (key === undefined || key.id !== credential.keyID || keys.refusalOf(key) !== undefined))
    return "revoked";
  if (!isKey && certificates.refusalOf(credential.serial, credential.instanceUid) !== undefined) return "revoked";
  return key === undefined || sourceRefusalOfKey(key, address, directory) === undefined ? undefined : "outside";
}
