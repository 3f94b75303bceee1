// Limits credentials that a key requests from an external or connected cluster to the permissions of the key, and to what is left of its life and of the
// access for a time that the caller needs there.

import { Readable } from "node:stream";
import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import {
  badRequestError,
  forbiddenRequestError,
  isApiError,
  unsupportedMediaTypeError,
} from "@postern/apimachinery/meta/api-error";
import { decodeProtobufObject, isProtobufKind } from "@postern/apimachinery/protobuf/protobuf-object";
import { ProtobufError } from "@postern/apimachinery/protobuf/wire-reader";
import { RBAC_GROUP } from "@postern/apiserver/authorization/rbac/policy-rule";
import { tokenRequestAttributes } from "@postern/apiserver/authorization/token-request-attributes";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { parseBody } from "@postern/apiserver/endpoints/decode/parse-body";
import type { RequestInfo } from "@postern/apiserver/request/request-info";
import type { Awaitable } from "@postern/apiserver/runtime/awaitable";
import { type ApiRequest, headerOf } from "@postern/apiserver/transport/api-request";
import { CERTIFICATES_GROUP } from "@postern/kubernetes/builtin/certificates/certificate-signing-request";
import { SECRET_TOKEN_TYPE } from "@postern/kubernetes/service-accounts/secret-token";
import type { AccessKeyState } from "../../access-keys/access-key-state.ts";
import type { HeldGrant } from "../../authorization/granted-access.ts";

const GRANTS: ReadonlySet<string> = new Set(["roles", "rolebindings", "clusterroles", "clusterrolebindings"]);
const WRITES: ReadonlySet<string> = new Set(["create", "update", "patch"]);
const tokenOfAnyAccount = tokenRequestAttributes({ namespace: "", name: "" });

/** Types of Secrets that are credentials without an expiration. */
const TOKEN_TYPES: readonly JsonValue[] = [SECRET_TOKEN_TYPE, "bootstrap.kubernetes.io/token"];
/** A patch that gives a token Secret to another account has to name this annotation. */
const ACCOUNT_ANNOTATIONS = /kubernetes\.io(?:\/|~1)service-account\./;

/** The only patch type that creates objects. */
const APPLY = "application/apply-patch";
const MIN_SECONDS = 600;
const DEFAULT_TOKEN_SECONDS = 3600;
/** kube-apiserver gives a year to a token for a pod that asks for exactly this. Source: k8s.io/kubernetes/pkg/serviceaccount/claims.go */
const EXTENDED_SECONDS = 3607;
const MAX_BODY_BYTES = 3 << 20;
const PROTOBUF = "application/vnd.kubernetes.protobuf";

/**
 * Such a cluster knows the name and the groups of the caller, and nothing of the key: what it gives out it gives to all that the caller
 * is there, for as long as was asked. Gives the request as it may be passed on. Throws ApiErrors 403, and 415 for a body that cannot be read.
 */
export function boundRemoteRequest(context: RequestContext, ends: CallerEnds): Awaitable<RequestContext> {
  const { outerAuthorizer, info } = context;
  if (outerAuthorizer === undefined || !info.isResourceRequest || !WRITES.has(info.verb)) return context;
  return boundWrite(context, ends);
}

type CallerEnds = {
  readonly key: Pick<AccessKeyState, "expiresAt"> | undefined;
  readonly grant: () => Pick<HeldGrant, "until" | "name"> | undefined;
};

/** `at` in milliseconds since the epoch; `what` ends then. */
type End = { readonly at: number; readonly what: string };

function earliestEnd({ key, grant }: CallerEnds): End | undefined {
  const held = grant();
  const ofKey = key?.expiresAt === undefined ? undefined : { at: key.expiresAt, what: "the access key" };
  const ofGrant = held && { at: held.until, what: `the access request ${held.name}` };
  if (ofKey === undefined || ofGrant === undefined) return ofKey ?? ofGrant;
  return ofKey.at <= ofGrant.at ? ofKey : ofGrant;
}

async function boundWrite(context: RequestContext, ends: CallerEnds): Promise<RequestContext> {
  const { request, info } = context;
  const { apiGroup, resource, subresource } = info;
  if (apiGroup === RBAC_GROUP && GRANTS.has(resource)) {
    if (!(await allowsAll(context))) throw refusal(info, PART_OF_THE_CLUSTER);
    return context;
  }
  if (apiGroup === "" && resource === "secrets" && subresource === "") {
    const end = earliestEnd(ends);
    if (end === undefined && (await allowsAll(context))) return context;
    const { body, passedOn } = await readBody(request, "Secret", "v1");
    if (makesToken(body)) {
      const isAll = end !== undefined && (await allowsAll(context));
      throw refusal(info, isAll ? tokenWithoutEnd(end) : PART_OF_THE_CLUSTER);
    }
    return context.with({ request: passedOn(undefined) });
  }
  const isToken = apiGroup === "" && resource === "serviceaccounts" && subresource === "token";
  const isCertificate = apiGroup === CERTIFICATES_GROUP && resource === "certificatesigningrequests";
  const makes = info.verb === "create" || headerOf(request, "content-type").toLowerCase().startsWith(APPLY);
  if (!makes || !(isToken || (isCertificate && subresource === ""))) return context;
  const end = earliestEnd(ends);
  if (end === undefined) return context;
  const remaining = Math.floor((end.at - context.receivedAt) / 1000);
  if (remaining < MIN_SECONDS) throw refusal(info, shortLife(end));
  const { body, passedOn } = isToken
    ? await readBody(request, "TokenRequest", "authentication.k8s.io/v1")
    : await readBody(request, "CertificateSigningRequest", `${CERTIFICATES_GROUP}/${info.apiVersion}`);
  if (!isJsonObject(body)) throw badRequestError("the body must be an object");
  const usual = isToken ? DEFAULT_TOKEN_SECONDS : Infinity;
  return context.with({ request: passedOn(endingWithin(body, remaining, usual)) });
}

async function allowsAll({ outerAuthorizer, user, credential }: RequestContext): Promise<boolean> {
  const decision = await outerAuthorizer?.authorize({ user, credential, ...tokenOfAnyAccount });
  return decision?.verdict === "allow";
}

/** True for a Secret, or a patch of one, in which the cluster puts a token, or which it takes for a token. */
function makesToken(body: JsonValue): boolean {
  if (isJsonObject(body)) {
    const { type } = body;
    if (type !== undefined && TOKEN_TYPES.includes(type)) return true;
  }
  return ACCOUNT_ANNOTATIONS.test(stringifyJson(body));
}

function endingWithin(body: JsonObject, remaining: number, usual: number): JsonObject {
  const spec = isJsonObject(body["spec"]) ? body["spec"] : {};
  const asked = spec["expirationSeconds"];
  const seconds = Math.min(typeof asked === "number" ? asked : usual, remaining);
  const expirationSeconds = seconds === EXTENDED_SECONDS ? seconds - 1 : seconds;
  return { ...body, spec: { ...spec, expirationSeconds } };
}

type ReadBody = {
  readonly body: JsonValue;
  /** The request with another body, or with the one that it came with. */
  passedOn(body: JsonObject | undefined): ApiRequest;
};

/**
 * The body of a request for an object of that kind. kubectl and Go clients send protobuf: it goes on as the JSON that was looked into, so that
 * the cluster reads nothing else in it. Throws ApiError 415 for what cannot be looked into, and 400 for what is not of its type.
 */
async function readBody(request: ApiRequest, kind: string, apiVersion: string): Promise<ReadBody> {
  const type = headerOf(request, "content-type").toLowerCase().split(";")[0]?.trim() ?? "";
  const isProtobuf = type === PROTOBUF && isProtobufKind(apiVersion, kind);
  const isReadable = type === "" || type.endsWith("json") || type.endsWith("yaml") || isProtobuf;
  if (!isReadable || headerOf(request, "content-encoding") !== "") {
    throw unsupportedMediaTypeError(["application/json", "application/yaml", PROTOBUF]);
  }
  const bytes = await request.body(MAX_BODY_BYTES);
  const read = isProtobuf ? parsedProtobuf(bytes, kind, apiVersion) : parsed(bytes, type.endsWith("yaml"));
  return {
    body: read,
    passedOn(body) {
      const changed = body ?? (isProtobuf ? read : undefined);
      const content = changed === undefined ? bytes : Buffer.from(stringifyJson(changed));
      const { "transfer-encoding": _, ...headers } = request.headers;
      return request.with({
        headers: {
          ...headers,
          ...(isProtobuf && { "content-type": "application/json" }),
          "content-length": String(content.byteLength),
        },
        bodyStream: () => Readable.from([content], { objectMode: false }),
      });
    },
  };
}

function parsedProtobuf(bytes: Uint8Array, kind: string, apiVersion: string): JsonObject {
  try {
    return decodeProtobufObject(bytes, { apiVersion, kind });
  } catch (error) {
    if (error instanceof ProtobufError) throw badRequestError(error.message, error);
    throw error;
  }
}

function parsed(bytes: Uint8Array, isYaml: boolean): JsonValue {
  try {
    return parseBody(bytes, { isYaml }).value;
  } catch (error) {
    if (isApiError(error)) throw error;
    throw badRequestError("the body is neither JSON nor YAML", error);
  }
}

const PART_OF_THE_CLUSTER =
  "the access key does not have access to the whole cluster, and the cluster cannot limit what it grants";
const tokenWithoutEnd = ({ what }: End): string =>
  `${what} expires, and the token would not: request a token with serviceaccounts/token`;
const shortLife = ({ what }: End): string =>
  `such credentials are valid for at least ${MIN_SECONDS} seconds, which is longer than ${what} of the request`;

const refusal = ({ apiGroup, resource, name }: RequestInfo, why: string) =>
  forbiddenRequestError({ group: apiGroup, resource }, name, why);
