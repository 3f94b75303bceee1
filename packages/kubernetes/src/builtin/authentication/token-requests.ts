// TokenRequests: `serviceaccounts/<name>/token` gives out a token that makes its bearer the ServiceAccount.
// Source: k8s.io/kubernetes/pkg/registry/core/serviceaccount/storage/token.go, pkg/apis/authentication/validation/validation.go

import {
  badRequestError,
  conflictError,
  invalidObjectError,
  notFoundError,
} from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { type FieldError, invalidError } from "@postern/apimachinery/validation/field-error";
import { lineageOf } from "@postern/apiserver/authentication/credential-lineage";
import type { Subresource } from "@postern/apiserver/registry/resource-definition";
import { SERVICE_ACCOUNT_ISSUER } from "../../service-accounts/bound-token.ts";
import type { ServiceAccountTokens } from "../../service-accounts/service-account-tokens.ts";
import type { ObjectIdentity, TokenSubjects } from "../../service-accounts/token-subjects.ts";
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
  readonly accounts: TokenSubjects;
  readonly secrets: TokenSubjects;
};

const DEFAULT_EXPIRATION_SECONDS = 3600;
const MIN_EXPIRATION_SECONDS = 600;
const MAX_EXPIRATION_SECONDS = 2 ** 32;
const ACCOUNTS = { group: "", resource: "serviceaccounts" };

/** Missing and empty fields have the same defaults. */
export const tokenRequests = ({ tokens, accounts, secrets }: TokenRequestOptions): Subresource => ({
  name: "token",
  kind: { group: AUTHENTICATION_GROUP, version: "v1", kind: "TokenRequest" },
  schema: kindSchema(fields.schema),
  description: "A token that makes its bearer the ServiceAccount.",
  async create(context, body) {
    const { receivedAt, info } = context;
    const { name, namespace } = info;
    // The schema has checked the shape.
    const { spec = {}, ...request } = body as TokenRequest;
    const audiences = (spec.audiences ?? []).length === 0 ? [SERVICE_ACCOUNT_ISSUER] : (spec.audiences ?? []);
    const expirationSeconds = spec.expirationSeconds ?? DEFAULT_EXPIRATION_SECONDS;
    const account = find(accounts, namespace, name);
    if (account === undefined) throw notFoundError(ACCOUNTS, name);
    const errors = validateExpiration(expirationSeconds);
    // Upstream names none: a request for a token has no name of its own.
    if (errors.length > 0) throw invalidObjectError({ group: AUTHENTICATION_GROUP, kind: "TokenRequest" }, "", errors);
    const secret = boundSecret(spec, namespace, name, secrets);

    const { token, expiresAt } = tokens.issue({
      namespace,
      account,
      secret,
      audiences,
      expirationSeconds,
      lineage: lineageOf(context),
    });
    return {
      ...request,
      metadata: { ...request.metadata, name, namespace, creationTimestamp: formatTimestamp(receivedAt) },
      spec: { ...spec, audiences, expirationSeconds },
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

function boundSecret(
  { boundObjectRef: reference }: TokenRequestSpec,
  namespace: string,
  account: string,
  secrets: TokenSubjects,
): ObjectIdentity | undefined {
  if (reference === undefined) return undefined;
  const { apiVersion = "", kind = "", name = "", uid = "" } = reference;
  if (apiVersion !== "v1" || kind !== "Secret") {
    const type = `${apiVersion}, Kind=${kind}`;
    throw badRequestError(`cannot bind token for serviceaccount ${quoteGo(account)} to object of type ${type}`);
  }
  const found = find(secrets, namespace, name);
  const resource = { group: "", resource: "secrets" };
  if (found === undefined) throw notFoundError(resource, name);
  if (uid !== "" && uid !== found.uid) {
    const why = `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`;
    throw conflictError(resource, name, why);
  }
  return found;
}

function find({ view, keys }: TokenSubjects, namespace: string, name: string): ObjectIdentity | undefined {
  const uid = view.get(keys.of(namespace, name))?.decode().metadata.uid;
  return uid === undefined ? undefined : { name, uid };
}
