// Maps the claims of an identity provider to a user and groups, with the configured rules.
// Source: kubernetes.io/docs/reference/access-authn-authz/authentication (structured authentication configuration)

import type { IdentityProviderSpec } from "@postern/api/identity-provider";
import { isJsonArray, isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { textOf } from "@postern/apimachinery/json/lenient-json";
import type { CelExpression } from "@postern/cel/cel-expression";
import type { CelValue } from "@postern/cel/cel-value";
import {
  type ClaimBudget,
  ClaimError,
  claimAt,
  claimValue,
  compileClaimExpression,
  compileCondition,
  createClaimBudget,
  evaluateCondition,
  textsOfExpression,
} from "../../../foundation/issuers/claim-conditions.ts";
import { isReadableName, withoutInvisible } from "../../../foundation/kinds/readable-name.ts";

type Mapping = IdentityProviderSpec["claimMappings"]["username"];
type CompiledMapping = { readonly mapping: Mapping; readonly expression: CelExpression | undefined };

export type CompiledClaims = {
  readonly [name in "username" | "groups" | "uid" | "email" | "displayName"]: CompiledMapping | undefined;
} & {
  readonly extra: readonly { readonly key: string; readonly expression: CelExpression }[];
  readonly rules: readonly {
    readonly claim: string;
    readonly requiredValue: string;
    readonly expression: CelExpression | undefined;
    readonly message: string;
  }[];
};

/** The user that a provider describes. */
export type MappedIdentity = {
  /** The identifier of the user at the provider. */
  readonly subject: string;
  readonly username: string;
  readonly groups: readonly string[];
  readonly email: string;
  readonly emailVerified: boolean;
  readonly displayName: string;
  readonly extra: { readonly [key: string]: string };
  /** Warning for the user and an administrator; "" for none. */
  readonly warning: string;
};

/** Why a user cannot sign in, as a message for the user: it reveals nothing about others. */
export class SignInRefusal extends Error {
  override readonly name = "SignInRefusal";
  /** For unknown or expired credentials. */
  readonly isUnknown: boolean;

  constructor(message: string, options: ErrorOptions & { readonly isUnknown?: boolean } = {}) {
    super(message, options);
    this.isUnknown = options.isUnknown === true;
  }
}

export const MAX_GROUPS = 500;
/** The claim of groups, which Entra ID leaves out for users in many groups. */
export const GROUPS_CLAIM = "groups";
const MAX_TEXT = 256;

export function compileClaims({ claimMappings, claimValidationRules = [] }: IdentityProviderSpec): CompiledClaims {
  const { username, groups, uid, email, displayName, extra = [] } = claimMappings;
  const compiled = (mapping: Mapping | undefined): CompiledMapping | undefined =>
    mapping && {
      mapping,
      expression: mapping.expression === undefined ? undefined : compileClaimExpression(mapping.expression),
    };
  return {
    username: compiled(username),
    groups: compiled(groups),
    uid: compiled(uid ?? { claim: "sub" }),
    email: compiled(email ?? { claim: "email" }),
    displayName: compiled(displayName ?? { claim: "name" }),
    extra: extra.map(({ key, valueExpression }) => ({ key, expression: compileClaimExpression(valueExpression) })),
    rules: claimValidationRules.map(({ claim = "", requiredValue = "", expression, message = "" }) => ({
      claim,
      requiredValue,
      expression: expression === undefined ? undefined : compileCondition(expression),
      message,
    })),
  };
}

/** `isReserved`: names that no provider may grant. Throws SignInRefusal. */
export function mapClaims(
  { spec, claims: compiled }: { readonly spec: IdentityProviderSpec; readonly claims: CompiledClaims },
  claims: JsonObject,
  isReserved: (name: string) => boolean,
): MappedIdentity {
  const budget = createClaimBudget();
  const value = claimValue(claims);
  const textsOf = (name: string, mapping: CompiledMapping | undefined): readonly string[] =>
    mapping === undefined ? [] : mappedTexts(name, mapping, claims, value, budget);
  const oneOf = (name: string, mapping: CompiledMapping | undefined): string => {
    const [text = "", ...others] = textsOf(name, mapping);
    if (others.length > 0) throw new SignInRefusal(`the provider returned several values for your ${name}`);
    return text;
  };
  checkRules(compiled, claims, value, budget);
  const username = oneOf("username", compiled.username);
  const subject = oneOf("uid", compiled.uid);
  if (username === "" || subject === "") throw new SignInRefusal("the provider returned no username");
  if (username.length > MAX_TEXT || subject.length > MAX_TEXT) throw new SignInRefusal("your username is too long");
  if (!isReadableName(username)) throw new SignInRefusal("your username has invisible characters");
  if (isReserved(username)) throw new SignInRefusal("your username is reserved");
  if (isByEmail(compiled.username) && claims["email_verified"] !== undefined && claims["email_verified"] !== true)
    throw new SignInRefusal("the provider has not verified your e-mail address");
  const areMissing = missingGroups(compiled, claims);
  const told =
    areMissing && compiled.groups?.expression !== undefined ? [] : [...new Set(textsOf("groups", compiled.groups))];
  if (told.length > MAX_GROUPS)
    throw new SignInRefusal(
      `you are in ${told.length} groups, and at most ${MAX_GROUPS} are accepted: an administrator must make the provider send fewer`,
    );
  const { allowedGroups } = spec;
  if (allowedGroups !== undefined && !told.some((group) => allowedGroups.includes(group)))
    throw new SignInRefusal(
      areMissing
        ? `${MISSING}, so that it is unknown whether you may sign in`
        : "you are in none of the groups that may sign in",
    );
  return {
    subject,
    username,
    // Groups of the system and of the platform cannot be claimed.
    groups: told.filter((group) => group.length <= MAX_TEXT && isReadableName(group) && !isReserved(group)),
    email: withoutInvisible(oneOf("email", compiled.email)).slice(0, MAX_TEXT),
    emailVerified: claims["email_verified"] === true,
    displayName: withoutInvisible(oneOf("displayName", compiled.displayName)).slice(0, MAX_TEXT),
    extra: Object.fromEntries(
      compiled.extra.flatMap(({ key, expression }) => {
        const texts = textsGiven(key, expression, value, budget);
        return texts.length === 0 ? [] : [[key, texts.join(",").slice(0, 4 * MAX_TEXT)]];
      }),
    ),
    warning: areMissing ? `${MISSING}, and permissions that they grant` : "",
  };
}

const MISSING = "your provider did not send your groups, because you are in too many: they are missing here";

/** Entra ID names them in `_claim_names`, or says `hasgroups`. */
function missingGroups({ groups }: CompiledClaims, claims: JsonObject): boolean {
  if (groups === undefined || claims[GROUPS_CLAIM] !== undefined) return false;
  const { claim = "", expression = "" } = groups.mapping;
  if (claim !== GROUPS_CLAIM && claim !== `/${GROUPS_CLAIM}` && !expression.includes(GROUPS_CLAIM)) return false;
  const { _claim_names: names, hasgroups } = claims;
  return hasgroups === true || hasgroups === "true" || (isJsonObject(names) && names[GROUPS_CLAIM] !== undefined);
}

function checkRules({ rules }: CompiledClaims, claims: JsonObject, value: CelValue, budget: ClaimBudget): void {
  for (const { claim, requiredValue, expression, message } of rules) {
    const holds =
      expression === undefined
        ? textOf(claimAt(claims, claim)) === requiredValue
        : evaluateCondition(expression, value, budget).holds;
    if (!holds) throw new SignInRefusal(message === "" ? "the provider's claims do not allow you to sign in" : message);
  }
}

/** As in Kubernetes: an unverified e-mail address does not identify a user. */
const isByEmail = (mapping: CompiledMapping | undefined): boolean => {
  const { claim = "", expression = "" } = mapping?.mapping ?? {};
  return ["email", "/email"].includes(claim) || (EMAIL.test(expression) && !expression.includes("email_verified"));
};

const EMAIL = /\bclaims\s*(?:\.\s*email\b|\[\s*["']email["']\s*\])/;

function mappedTexts(
  name: string,
  { mapping: { claim = "", prefix = "" }, expression }: CompiledMapping,
  claims: JsonObject,
  value: CelValue,
  budget: ClaimBudget,
): readonly string[] {
  if (expression !== undefined) return textsGiven(name, expression, value, budget);
  const found = claimAt(claims, claim);
  const texts = isJsonArray(found) ? found.map(textOf) : [textOf(found)];
  return texts.filter((text) => text !== "").map((text) => `${prefix}${text}`);
}

function textsGiven(name: string, expression: CelExpression, value: CelValue, budget: ClaimBudget): readonly string[] {
  try {
    return textsOfExpression(expression, value, budget);
  } catch (error) {
    if (error instanceof ClaimError) throw new SignInRefusal(`the provider's claims have no ${name}`, { cause: error });
    throw error;
  }
}
