// TokenRequests: `serviceaccounts/<name>/token` gives out a token that makes its bearer the ServiceAccount.
// Source: k8s.io/kubernetes/pkg/registry/core/serviceaccount/storage/token.go, pkg/apis/authentication/validation/validation.go

import {
  badRequestError,
  conflictError,
  invalidObjectError,
  notFoundError,
} from "@postern/apimachinery/meta/api-error";
import { parseApiVersion } from "@postern/apimachinery/meta/group-version";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { type FieldError, invalidError } from "@postern/apimachinery/validation/field-error";
import { lineageOf } from "@postern/apiserver/authentication/credential-lineage";
import type { Subresource } from "@postern/apiserver/registry/resource-definition";
import { type BoundToken, SERVICE_ACCOUNT_ISSUER } from "../../service-accounts/bound-token.ts";
import type { ServiceAccountTokens } from "../../service-accounts/service-account-tokens.ts";
import type { BoundKind, TokenObjects, TokenSubjects } from "../../service-accounts/token-subjects.ts";
import type { Pod } from "../workloads/pods/pods.ts";
import { AUTHENTICATION_GROUP } from "./user-info-fields.ts";

const fields = s.object({
  spec: s.object({
    audiences: s.list(s.string()),
    expirationSeconds: s.int64({ minimum: -(2 ** 53), maximum: 2 ** 53 }),
    boundObjectRef: s.object({
      kind: s.string(),
      apiVersion: s.string(),
      name: s.string(),
      uid: s.string(),
    }),
  }),
  status: s.object({
    token: s.string(),
    expirationTimestamp: s.timestamp(),
  }),
});
type TokenRequest = KindOf<typeof fields>;
type TokenRequestSpec = NonNullable<TokenRequest["spec"]>;

export type TokenRequestOptions = {
  readonly tokens: Pick<ServiceAccountTokens, "issue">;
  readonly objects: TokenObjects;
};

const DEFAULT_EXPIRATION_SECONDS = 3600;
const MIN_EXPIRATION_SECONDS = 600;
const MAX_EXPIRATION_SECONDS = 2 ** 32;
const TOKEN_REQUEST = { group: AUTHENTICATION_GROUP, kind: "TokenRequest" };

/** Missing and empty fields have the same defaults. */
export const tokenRequests = ({ tokens, objects }: TokenRequestOptions): Subresource => ({
  name: "token",
  kind: { group: AUTHENTICATION_GROUP, version: "v1", kind: "TokenRequest" },
  schema: kindSchema(fields.schema),
  description: "A token that makes its bearer the ServiceAccount.",
  nameFault(name, account) {
    const error = invalidError("metadata.name", name, "must match the service account name if specified");
    return invalidObjectError(TOKEN_REQUEST, account, [error]);
  },
  async create(context, body) {
    const { receivedAt, info } = context;
    const { name, namespace } = info;
    // The schema has checked the shape.
    const { spec = {}, ...request } = body as TokenRequest;
    const audiences = (spec.audiences ?? []).length === 0 ? [SERVICE_ACCOUNT_ISSUER] : (spec.audiences ?? []);
    const expirationSeconds = spec.expirationSeconds ?? DEFAULT_EXPIRATION_SECONDS;
    const { uid } = find(objects.accounts, namespace, name, "serviceaccounts").metadata;
    checkAccountUid(name, request.metadata?.uid, uid);
    const account = { name, uid };
    const errors = validateExpiration(expirationSeconds);
    // Upstream names none: a request for a token has no name of its own.
    if (errors.length > 0) throw invalidObjectError(TOKEN_REQUEST, "", errors);

    const { token, expiresAt } = tokens.issue({
      namespace,
      account,
      ...bindingOf(spec, namespace, name, objects.bound),
      audiences,
      expirationSeconds,
      lineage: lineageOf(context),
    });
    return {
      ...request,
      metadata: { ...request.metadata, name, namespace, uid, creationTimestamp: formatTimestamp(receivedAt) },
      spec: { ...spec, audiences, expirationSeconds, boundObjectRef: spec.boundObjectRef ?? null },
      status: { token, expirationTimestamp: formatTimestamp(expiresAt) },
    } satisfies KubeObject;
  },
});

function validateExpiration(seconds: number): readonly FieldError[] {
  const fault = (detail: string): readonly FieldError[] => [invalidError("spec.expirationSeconds", seconds, detail)];
  if (seconds < MIN_EXPIRATION_SECONDS) return fault("may not specify a duration less than 10 minutes");
  if (seconds > MAX_EXPIRATION_SECONDS) return fault("may not specify a duration larger than 2^32 seconds");
  return [];
}

function checkAccountUid(name: string, asked: string | undefined, uid: string): void {
  if (asked === undefined || asked === "" || asked === uid) return;
  const why = `the UID in the token request (${asked}) does not match the UID of the service account (${uid})`;
  throw conflictError({ group: AUTHENTICATION_GROUP, resource: "TokenRequest" }, name, why);
}

const RESOURCES: Readonly<Record<BoundKind, string>> = { pod: "pods", secret: "secrets", node: "nodes" };
const KINDS: Readonly<Record<string, BoundKind>> = { Pod: "pod", Secret: "secret", Node: "node" };

function bindingOf(
  { boundObjectRef: reference }: TokenRequestSpec,
  namespace: string,
  account: string,
  objects: TokenObjects["bound"],
): Pick<BoundToken, "boundTo" | "nodeOfPod"> {
  if (reference === undefined) return { boundTo: undefined };
  const { apiVersion = "", kind: named = "", name = "", uid: asked = "" } = reference;
  const { group, version } = parseApiVersion(apiVersion) ?? { group: "", version: "" };
  const kind = group === "" && Object.hasOwn(KINDS, named) ? KINDS[named] : undefined;
  if (kind === undefined) {
    throw badRequestError(`cannot bind token to object of type ${group}/${version}, Kind=${named}`);
  }
  const found = find(objects[kind], namespace, name, RESOURCES[kind]);
  const nodeOfPod = kind === "pod" ? nodeOf(found as Pod, account, objects.node) : undefined;
  const { uid } = found.metadata;
  if (asked !== "" && asked !== uid) {
    const why = `the UID in the bound object reference (${asked}) does not match the UID in record. The object might have been deleted and then recreated`;
    throw conflictError({ group: "", resource: named }, name, why);
  }
  return { boundTo: { kind, name, uid }, nodeOfPod };
}

/** Throws ApiError 400 for a pod of another ServiceAccount. */
function nodeOf({ spec }: Pod, account: string, { view, keys }: TokenSubjects): BoundToken["nodeOfPod"] {
  if (spec?.serviceAccountName !== account) {
    const fault = `cannot bind token for serviceaccount ${quoteGo(account)} to pod running with different serviceaccount name.`;
    throw badRequestError(fault);
  }
  const name = spec.nodeName ?? "";
  return name === "" ? undefined : { name, uid: view.get(keys.of("", name))?.decode().metadata.uid };
}

type Stored = KubeObject & { readonly metadata: { readonly uid: string } };

/** Throws ApiError 400 or 404. */
function find({ view, keys }: TokenSubjects, namespace: string, name: string, resource: string): Stored {
  if (name === "") throw badRequestError("Name parameter required.");
  const object = view.get(keys.of(namespace, name))?.decode();
  const uid = object?.metadata.uid;
  if (object === undefined || uid === undefined) throw notFoundError({ group: "", resource }, name);
  return { ...object, metadata: { ...object.metadata, uid } };
}
