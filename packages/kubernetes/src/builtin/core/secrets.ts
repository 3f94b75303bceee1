// Secrets: bytes by key that only few may read.
// Source: k8s.io/kubernetes/pkg/registry/core/secret/strategy.go, pkg/apis/core/v1/conversion.go (stringData)

import { parseJson } from "@postern/apimachinery/json/parse-json";
import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { type FieldError, invalidError, keyPath, requiredError } from "@postern/apimachinery/validation/field-error";
import { validateImmutable } from "@postern/apimachinery/validation/object-meta";
import { lineageOf, lineageOn, withLineage } from "@postern/apiserver/authentication/credential-lineage";
import { tokenRequestAttributes } from "@postern/apiserver/authorization/token-request-attributes";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { ACCOUNT_NAME_ANNOTATION, SECRET_TOKEN_TYPE, tokenIn } from "../../service-accounts/secret-token.ts";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";
import { keyPairWarning } from "./key-pair-warning.ts";
import { decodedSize, validateImmutability, validateKeys, validateTotalSize } from "./keyed-data.ts";

const secretFields = s.object({
  data: s.map(s.bytes()),
  stringData: s.map(s.string()),
  type: s.string(),
  immutable: s.boolean(),
});

export type Secret = KindOf<typeof secretFields>;

const OPAQUE = "Opaque";
const TOKEN_ENDS = "the token in this Secret ends with the credential that asks for it";

const strategy: Strategy<Secret> = {
  allowUnconditionalUpdate: true,
  async prepareForCreate(secret, context) {
    const normalized = normalize(secret);
    await authorizeTokenSecret(normalized, undefined, context);
    const lineage = normalized.type === SECRET_TOKEN_TYPE ? lineageOf(context) : undefined;
    if (lineage !== undefined) context.warnings.add(TOKEN_ENDS);
    return withLineage(normalized, lineage);
  },
  async prepareForUpdate(secret, old, context) {
    const normalized = normalize(secret);
    await authorizeTokenSecret(normalized, old, context);
    return withLineage(normalized, asksAnew(normalized, old) ? lineageOf(context) : lineageOn(old));
  },
  validate: validateSecret,
  validateUpdate: (secret, old) => [
    ...validateImmutable(secret.type ?? "", old.type ?? OPAQUE, "type"),
    ...validateImmutability(secret, old, ["data"]),
    ...validateSecret(secret),
  ],
  warningsOnCreate: pairWarnings,
  warningsOnUpdate: pairWarnings,
};

function pairWarnings({ type, data = {} }: Secret): readonly string[] {
  if (type !== "kubernetes.io/tls") return [];
  const [certificate, key] = ["tls.crt", "tls.key"].map((name) => Buffer.from(data[name] ?? "", "base64").toString());
  const warning = keyPairWarning(certificate ?? "", key ?? "");
  return warning === undefined ? [] : [warning];
}

/** Whether the Secret gets another token because of this write. */
function asksAnew(secret: Secret, old: Secret): boolean {
  if (secret.type !== SECRET_TOKEN_TYPE) return false;
  const accountOf = ({ metadata }: Secret) => metadata.annotations?.[ACCOUNT_NAME_ANNOTATION];
  return (tokenIn(old) !== undefined && tokenIn(secret) === undefined) || accountOf(secret) !== accountOf(old);
}

/** Puts stringData into data, and the type in where none is given. */
function normalize({ stringData, ...secret }: Secret): Secret {
  const type = secret.type === undefined || secret.type === "" ? OPAQUE : secret.type;
  const overlay = Object.entries(stringData ?? {}).map(([key, text]) => [key, Buffer.from(text).toString("base64")]);
  const data = overlay.length === 0 ? secret.data : { ...secret.data, ...Object.fromEntries(overlay) };
  // The rest of an object type is not known to be the object without one member.
  return { ...secret, ...(data === undefined ? {} : { data }), type } as Secret;
}

function validateSecret(secret: Secret): readonly FieldError[] {
  const { data } = secret;
  return [
    ...validateKeys(data, "data"),
    ...validateTotalSize(decodedSize(data), "data"),
    ...validateTypedSecret(secret),
  ];
}

function validateTypedSecret({ type, data, metadata }: Secret): readonly FieldError[] {
  const has = (key: string): boolean => data !== undefined && Object.hasOwn(data, key);
  const required = (...keys: string[]): readonly FieldError[] =>
    keys.filter((key) => !has(key)).map((key) => requiredError(keyPath("data", key)));
  switch (type) {
    case SECRET_TOKEN_TYPE: {
      const account = metadata.annotations?.[ACCOUNT_NAME_ANNOTATION] ?? "";
      return account === "" ? [requiredError(keyPath("metadata.annotations", ACCOUNT_NAME_ANNOTATION))] : [];
    }
    case "kubernetes.io/dockercfg":
      return [...required(".dockercfg"), ...validateJson(data, ".dockercfg")];
    case "kubernetes.io/dockerconfigjson":
      return [...required(".dockerconfigjson"), ...validateJson(data, ".dockerconfigjson")];
    case "kubernetes.io/basic-auth":
      return has("username") || has("password") ? [] : required("username", "password");
    case "kubernetes.io/ssh-auth":
      return required("ssh-privatekey");
    case "kubernetes.io/tls":
      return required("tls.crt", "tls.key");
    default:
      return [];
  }
}

/** The value itself is never shown. */
function validateJson(data: Secret["data"], key: string): readonly FieldError[] {
  const value = data?.[key];
  if (value === undefined) return [];
  try {
    parseJson(Buffer.from(value, "base64"));
    return [];
  } catch {
    return [invalidError(keyPath("data", key), "<secret contents redacted>", "must be valid JSON")];
  }
}

export const secrets: ResourceDefinition = defineBuiltin({
  group: "",
  version: "v1",
  kind: "Secret",
  plural: "secrets",
  namespaced: true,
  schema: kindSchema(secretFields.schema),
  selectableFields: [".type"],
  columns: [
    { name: "Type", type: "string", value: ".type" },
    {
      name: "Data",
      type: "integer",
      value: ({ data }) => Object.keys(data ?? {}).length,
    },
    ageColumn,
  ],
  strategy,
  setDefaults: normalize,
});

const accountOf = (secret: Secret | undefined): string =>
  secret?.type === SECRET_TOKEN_TYPE ? (secret.metadata.annotations?.[ACCOUNT_NAME_ANNOTATION] ?? "") : "";

/**
 * Throws 403 if the outer authorizer that allowed this request would refuse one for the token itself. The surface's own RBAC requires no more than
 * access to the Secret, as in Kubernetes.
 */
async function authorizeTokenSecret(
  secret: Secret,
  old: Secret | undefined,
  { outerAuthorizer, user, credential }: Pick<RequestContext, "outerAuthorizer" | "user" | "credential">,
): Promise<void> {
  const account = accountOf(secret);
  const isKept = account === accountOf(old) && old !== undefined && !asksAnew(secret, old);
  if (outerAuthorizer === undefined || account === "" || isKept) return;
  const { namespace = "", name = "" } = secret.metadata;
  const { verdict, reason } = await outerAuthorizer.authorize({
    user,
    credential,
    ...tokenRequestAttributes({ namespace, name: account }),
  });
  if (verdict !== "allow") throw forbiddenRequestError({ group: "", resource: "secrets" }, name, reason);
}
