// Validates trust rules beyond the schema.

import { X509Certificate } from "node:crypto";
import { restrictionNames } from "@postern/api/access-key-restrictions";
import { issuerUrlOf, presetOf } from "@postern/api/issuer-presets";
import type { PlatformNames } from "@postern/api/platform-names";
import type { TrustRule, TrustRuleSpec } from "@postern/api/trust-rule";
import {
  duplicateError,
  type FieldError,
  forbiddenError,
  indexPath,
  invalidError,
  notFoundFieldError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import { conditionError } from "../../../../foundation/issuers/claim-conditions.ts";
import { keySetError } from "../../../../foundation/issuers/key-set.ts";
import { validateRules } from "../../../access-keys/kinds/owned-access-keys/validate-rules.ts";
import {
  validateScope,
  validateSize,
  validateSourceRanges,
} from "../../../access-keys/kinds/owned-access-keys/validation.ts";
import type { Directory } from "../../../directory/directory.ts";

export type TrustRuleValidation = {
  readonly names: PlatformNames;
  readonly directory: Pick<Directory, "user">;
};

type Issuer = TrustRuleSpec["issuer"];

const MAX_URL = 2_048;
const MAX_KEY_SET = 64 * 1024;
const MAX_CERTIFICATES = 64 * 1024;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** `old` is what an update starts from. */
export function validateTrustRule(
  { metadata, spec }: TrustRule,
  old: TrustRule | undefined,
  { names, directory }: TrustRuleValidation,
): readonly FieldError[] {
  const { namespace = "" } = metadata;
  const project = namespace === "" ? undefined : names.projectOf(namespace);
  const tooMany = validateSize(spec, old?.spec);
  // Everything below looks at each entry.
  if (tooMany.length > 0) return tooMany;
  return [
    ...(namespace !== "" && project === undefined
      ? [invalidError("metadata.namespace", namespace, "must be the namespace of a project")]
      : []),
    ...validateIssuer(spec.issuer),
    ...validateAudiences(spec.audiences),
    ...validateClaims(spec),
    ...(spec.conditions ?? []).flatMap(({ expression }, at) => {
      const fault = conditionError(expression);
      return fault === undefined
        ? []
        : [invalidError(`${indexPath("spec.conditions", at)}.expression`, expression, fault)];
    }),
    ...(spec.user !== old?.spec.user && directory.user(spec.user) === undefined
      ? [notFoundFieldError("spec.user", spec.user)]
      : []),
    ...validateScope(spec.scope, restrictionNames(names.name)),
    ...validateRules(spec.rules ?? [], "spec.rules"),
    ...validateSourceRanges(spec.allowedSourceRanges ?? []),
    ...validateRules(spec.scope?.rules ?? [], "spec.scope.rules"),
    ...(project === undefined ? [] : validateWithinProject(spec, project)),
  ];
}

function validateIssuer(issuer: Issuer): readonly FieldError[] {
  const { jwks, discoveryURL, certificateAuthority } = issuer;
  const path = "spec.issuer";
  const url = issuerUrlOf(issuer);
  if (url === "") return [requiredError(`${path}.url`, "the preset has no default URL: set url")];
  const isFetchedThere = jwks === undefined && discoveryURL === undefined;
  return [
    ...(url.length > MAX_URL ? [invalidError(`${path}.url`, "", `must have at most ${MAX_URL} characters`)] : []),
    ...(isFetchedThere ? validateAddress(url, `${path}.url`, false) : []),
    ...(discoveryURL === undefined ? [] : validateAddress(discoveryURL, `${path}.discoveryURL`, true)),
    ...(jwks === undefined ? [] : validateKeySet(jwks, `${path}.jwks`)),
    ...(jwks !== undefined && discoveryURL !== undefined
      ? [forbiddenError(`${path}.discoveryURL`, "must not be set together with jwks")]
      : []),
    ...(certificateAuthority === undefined
      ? []
      : validateCertificates(certificateAuthority, `${path}.certificateAuthority`)),
  ];
}

export function validateAddress(text: string, path: string, mayHaveQuery: boolean): readonly FieldError[] {
  const refuse = (why: string): readonly FieldError[] => [invalidError(path, text.slice(0, MAX_URL), why)];
  if (!URL.canParse(text) || text.length > MAX_URL) return refuse("must be a URL");
  const { protocol, username, password, hash, search } = new URL(text);
  if (protocol !== "https:") return refuse("must begin with https://");
  if (username !== "" || password !== "")
    return [invalidError(path, "<hidden>", "must not have a user or a password in it")];
  if (hash !== "" || (search !== "" && !mayHaveQuery)) return refuse("must not have a query or a fragment");
  return [];
}

function validateKeySet(text: string, path: string): readonly FieldError[] {
  const fault = text.length > MAX_KEY_SET ? `must have at most ${MAX_KEY_SET} characters` : keySetError(text);
  // A refused value may be a private key.
  return fault === undefined ? [] : [invalidError(path, "<hidden>", fault)];
}

export function validateCertificates(text: string, path: string): readonly FieldError[] {
  const refuse = (why: string): readonly FieldError[] => [invalidError(path, "<hidden>", why)];
  if (text.length > MAX_CERTIFICATES) return refuse(`must have at most ${MAX_CERTIFICATES} characters`);
  const found = text.match(CERTIFICATE) ?? [];
  if (found.length === 0) return refuse("must contain a certificate in PEM");
  try {
    for (const pem of found) new X509Certificate(pem);
    return [];
  } catch {
    return refuse("must contain only certificates in PEM");
  }
}

function validateAudiences(audiences: readonly string[]): readonly FieldError[] {
  return audiences.flatMap((audience, at) => {
    const path = indexPath("spec.audiences", at);
    if (audiences.indexOf(audience) !== at) return [duplicateError(path, audience)];
    return audience.includes("*")
      ? [invalidError(path, audience, "must not have wildcards: it is compared exactly")]
      : [];
  });
}

function validateClaims({ issuer, claims = [] }: TrustRuleSpec): readonly FieldError[] {
  const preset = presetOf(issuer);
  if (preset === undefined) return [];
  const pins = claims.flatMap(({ claim, values }, at) =>
    preset.immutable.includes(claim) ? [{ values, path: `${indexPath("spec.claims", at)}.values` }] : [],
  );
  if (pins.length === 0) {
    const names = preset.immutable.join(" or ");
    return [requiredError("spec.claims", `require ${names}: other claims of this issuer can be reassigned`)];
  }
  return pins.flatMap(({ values, path }) =>
    values.flatMap((value, at) =>
      preset.form.test(value) ? [] : [invalidError(indexPath(path, at), value, preset.formText)],
    ),
  );
}

/** An absent entry opens the project. */
function validateWithinProject({ scope = {} }: TrustRuleSpec, project: string): readonly FieldError[] {
  const path = "spec.scope";
  const own = `must be ${JSON.stringify(project)}: a rule of a project cannot allow anything outside of it`;
  const lists = ["projects", "virtualClusters", "spaces"] as const;
  return [
    ...lists.flatMap((list) =>
      (scope[list] ?? []).flatMap((entry, at) =>
        (entry.project ?? "") === project
          ? []
          : [invalidError(`${indexPath(`${path}.${list}`, at)}.project`, entry.project ?? "", own)],
      ),
    ),
    ...(["clusters", "roles"] as const).flatMap((list) =>
      (scope[list] ?? []).length === 0
        ? []
        : [forbiddenError(`${path}.${list}`, "a rule of a project cannot allow anything outside of it")],
    ),
  ];
}
