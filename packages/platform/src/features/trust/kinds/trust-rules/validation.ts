// Validates trust rules beyond the schema.

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
import {
  MAX_ISSUER_URL,
  validateIssuerAddress,
  validateIssuerCertificates,
} from "../../../../foundation/issuers/validate-issuer.ts";
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

const MAX_KEY_SET = 64 * 1024;

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
    ...(url.length > MAX_ISSUER_URL
      ? [invalidError(`${path}.url`, "", `must have at most ${MAX_ISSUER_URL} characters`)]
      : []),
    ...(isFetchedThere ? validateIssuerAddress(url, `${path}.url`) : []),
    ...(discoveryURL === undefined
      ? []
      : validateIssuerAddress(discoveryURL, `${path}.discoveryURL`, { mayHaveQuery: true })),
    ...(jwks === undefined ? [] : validateKeySet(jwks, `${path}.jwks`)),
    ...(jwks !== undefined && discoveryURL !== undefined
      ? [forbiddenError(`${path}.discoveryURL`, "must not be set together with jwks")]
      : []),
    ...(certificateAuthority === undefined
      ? []
      : validateIssuerCertificates(certificateAuthority, `${path}.certificateAuthority`)),
  ];
}

function validateKeySet(text: string, path: string): readonly FieldError[] {
  const fault = text.length > MAX_KEY_SET ? `must have at most ${MAX_KEY_SET} characters` : keySetError(text);
  // A refused value may be a private key.
  return fault === undefined ? [] : [invalidError(path, "<hidden>", fault)];
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
