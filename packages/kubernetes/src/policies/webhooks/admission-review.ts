// The AdmissionReview that a webhook receives, and its response.
// Source: k8s.io/api/admission/v1/types.go, k8s.io/apiserver/pkg/admission/plugin/webhook/{request/admissionreview.go,errors/statuserror.go}

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import { ApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { StatusDetails, StatusReason } from "@postern/apimachinery/meta/status";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import { quoteShortened } from "@postern/apimachinery/validation/field-error";
import type { AdmissionAttributes } from "@postern/apiserver/registry/admission-plugin";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { readWebhookBody } from "../../webhooks/read-webhook-body.ts";
import { WebhookCallError } from "../../webhooks/webhook-caller.ts";
import { requestOf } from "../expression-scope.ts";

const GROUP = "admission.k8s.io";
export type ReviewVersion = "v1" | "v1beta1";

/** The text of a review, for any uid: an object is serialized once, however many webhooks receive it. */
export function reviewTextFor(attributes: AdmissionAttributes, seenAs: ResourceDefinition) {
  const { userInfo, dryRun, options, ...request } = requestOf(attributes, seenAs);
  const rest = stringifyJson({
    ...request,
    userInfo,
    object: json(attributes.object),
    oldObject: json(attributes.oldObject),
    dryRun,
    options,
  } as JsonObject);
  return (version: ReviewVersion, uid: string): string =>
    `{"kind":"AdmissionReview","apiVersion":"${GROUP}/${version}","request":{"uid":"${uid}",${rest.slice(1)}}`;
}

// Objects are JSON; only their named types hide it.
const json = (object: KubeObject | undefined): JsonValue => (object as JsonObject | undefined) ?? null;

export type ReviewAnswer = {
  readonly allowed: boolean;
  /** JSON of a JSON patch. */
  readonly patch: string | undefined;
  readonly result: JsonObject | undefined;
  readonly warnings: readonly string[];
  readonly auditAnnotations: readonly (readonly [key: string, value: string])[];
};

/** Throws WebhookCallError if the body is not a response to the review. */
export function readAnswer(
  text: string,
  { version, uid, isMutating }: { readonly version: ReviewVersion; readonly uid: string; readonly isMutating: boolean },
): ReviewAnswer {
  const review = readWebhookBody(text, (why) => new WebhookCallError(`failed to call webhook: ${why}`));
  const response = review["response"];
  if (!isJsonObject(response)) throw invalidResponse("webhook response was absent");
  const { patch = "", patchType } = response;
  if (version === "v1") {
    const answered = textOf(response["uid"]);
    if (answered !== uid)
      throw invalidResponse(`expected response.uid=${quoteGo(uid)}, got ${quoteShortened(answered)}`);
    const [apiVersion, kind] = [shortTextOf(review["apiVersion"]), shortTextOf(review["kind"])];
    if (apiVersion !== `${GROUP}/v1` || kind !== "AdmissionReview") {
      throw invalidResponse(
        `expected webhook response of ${GROUP}/v1, Kind=AdmissionReview, got ${apiVersion.includes("/") ? apiVersion : `/${apiVersion}`}, Kind=${kind}`,
      );
    }
    checkPatchMembers(patch, patchType, isMutating);
  }
  const { status: result } = response;
  return {
    allowed: response["allowed"] === true,
    patch: isMutating && typeof patch === "string" && patch !== "" ? decodePatch(patch) : undefined,
    result: isJsonObject(result) ? result : undefined,
    warnings: isJsonArray(response["warnings"]) ? response["warnings"].filter(isText) : [],
    auditAnnotations: isJsonObject(response["auditAnnotations"])
      ? Object.entries(response["auditAnnotations"]).filter((entry): entry is [string, string] => isText(entry[1]))
      : [],
  };
}

const isText = (value: JsonValue | undefined): value is string => typeof value === "string";
const textOf = (value: JsonValue | undefined): string => (isText(value) ? value : "");

/** Names in the errors of this file: an answer may have megabytes in their place. Longer than any that Kubernetes has. */
const MAX_NAME = 1_024;
const shortTextOf = (value: JsonValue | undefined): string => textOf(value).slice(0, MAX_NAME);
/** The message of a refusal: lists of faults are long, and each one is for people. It goes into the answer, the audit log and the log. */
const MAX_MESSAGE = 64 * 1_024;
const invalidResponse = (why: string): WebhookCallError =>
  new WebhookCallError(`received invalid webhook response: ${why}`);

function checkPatchMembers(patch: JsonValue, patchType: JsonValue | undefined, isMutating: boolean): void {
  const hasType = patchType !== undefined && patchType !== null;
  const hasPatch = patch !== "" && patch !== null;
  if (!isMutating) {
    if (hasPatch) throw invalidResponse("validating webhook may not return response.patch");
    if (hasType) throw invalidResponse("validating webhook may not return response.patchType");
    return;
  }
  if (hasPatch && !hasType) throw invalidResponse("webhook returned response.patch but not response.patchType");
  if (!hasPatch && hasType) throw invalidResponse("webhook returned response.patchType but not response.patch");
  if (hasType && patchType === "") throw invalidResponse('webhook returned invalid response.patchType of ""');
  if (hasType && patchType !== "JSONPatch") {
    throw new WebhookCallError(`unsupported patch type ${quoteShortened(textOf(patchType))}`);
  }
}

const BASE64 = /^[A-Za-z0-9+/\r\n]*={0,2}$/;

function decodePatch(base64: string): string {
  if (!BASE64.test(base64)) {
    throw new WebhookCallError("failed to call webhook: the answer cannot be read: response.patch is not base64");
  }
  return Buffer.from(base64, "base64").toString("utf8");
}

const REASON = /^[A-Za-z]{1,64}$/;

/** The refusal in the words of the webhook. */
export function rejectionOf(webhookName: string, result: JsonObject | undefined): ApiError {
  const denied = `admission webhook ${quoteGo(webhookName)} denied the request`;
  const [message, reason] = [textOf(result?.["message"]).slice(0, MAX_MESSAGE), shortTextOf(result?.["reason"])];
  const code = typeof result?.["code"] === "number" ? result["code"] : 0;
  const why = message === "" ? reason : message;
  const details = result?.["details"];
  return new ApiError({
    code: Number.isInteger(code) && code >= 400 && code <= 599 ? code : 400,
    // Upstream passes any word on; clients compare it.
    ...(REASON.test(reason) ? { reason: reason as StatusReason } : {}),
    message: why === "" ? `${denied} without explanation` : `${denied}: ${why}`,
    ...(isJsonObject(details) ? { details: detailsOf(details) } : {}),
  });
}

/** Keeps the details that Kubernetes knows, if they have its types. */
function detailsOf(details: JsonObject): StatusDetails {
  const texts = ["name", "group", "kind", "uid"].flatMap((name) =>
    isText(details[name]) ? [[name, shortTextOf(details[name])]] : [],
  );
  const causes = isJsonArray(details["causes"]) ? details["causes"].filter(isJsonObject) : [];
  const seconds = details["retryAfterSeconds"];
  return {
    ...Object.fromEntries(texts),
    ...(causes.length === 0
      ? {}
      : {
          causes: causes.slice(0, 100).map((cause) => ({
            reason: shortTextOf(cause["reason"]),
            message: shortTextOf(cause["message"]),
            field: shortTextOf(cause["field"]),
          })),
        }),
    ...(typeof seconds === "number" ? { retryAfterSeconds: seconds } : {}),
  };
}
