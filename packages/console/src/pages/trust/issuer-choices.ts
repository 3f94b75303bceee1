// The issuers that the form of a trust rule offers: presets of the API, and services that a rule names by their URL.

import { ISSUER_PRESETS, PRESETS, presetOf } from "@postern/api/issuer-presets";
import type { TrustRule } from "@postern/api/trust-rule";

type Service = {
  /** The form of its URLs, for readers; the URL itself if all customers have the same. */
  readonly example: string;
  readonly isIssuer: (url: string) => boolean;
  /** A claim that is never reassigned. Undefined: the API knows it. */
  readonly claim?: string;
  readonly isShared?: boolean;
  /** The service chooses the audience. */
  readonly hasAudience?: boolean;
};

/** Sources: circleci.com/docs/openid-connect-tokens, support.atlassian.com/bitbucket-cloud/docs/integrate-pipelines-with-resource-servers-using-oidc */
const SERVICES = {
  circleci: {
    example: "https://oidc.circleci.com/org/ORGANIZATION-ID",
    isIssuer: (url) => url.startsWith("https://oidc.circleci.com/org/"),
    claim: "oidc.circleci.com/project-id",
    hasAudience: true,
  },
  bitbucket: {
    example: "https://api.bitbucket.org/2.0/workspaces/WORKSPACE/pipelines-config/identity/oidc",
    isIssuer: (url) => url.startsWith("https://api.bitbucket.org/"),
    claim: "repositoryUuid",
    hasAudience: true,
  },
  terraform: {
    example: "https://app.terraform.io",
    isIssuer: (url) => url === "https://app.terraform.io",
    isShared: true,
  },
} as const satisfies { readonly [id: string]: Service };

export const ISSUERS = [
  "github",
  "gitlab",
  "buildkite",
  "circleci",
  "bitbucket",
  "terraform",
  "kubernetes",
  "other",
] as const;
export type IssuerChoice = (typeof ISSUERS)[number];

const serviceOf = (issuer: IssuerChoice): Service | undefined =>
  Object.entries(SERVICES).find(([id]) => id === issuer)?.[1];

/** The preset of the API, if the choice is one. */
export const presetIn = (issuer: IssuerChoice): (typeof ISSUER_PRESETS)[number] | undefined =>
  ISSUER_PRESETS.find((preset) => preset === issuer);

export function choiceOf({ preset, url = "" }: TrustRule["spec"]["issuer"]): IssuerChoice {
  const service = Object.entries(SERVICES).find(([, { isIssuer }]) => isIssuer(url))?.[0];
  return ISSUERS.find((id) => id === (preset ?? service)) ?? "other";
}

/** The URL that all customers of a service have. */
function sharedUrlOf(issuer: IssuerChoice): string | undefined {
  const service = serviceOf(issuer);
  return service?.isShared === true ? service.example : undefined;
}

const knownOf = (issuer: IssuerChoice) => presetOf({ preset: presetIn(issuer), url: sharedUrlOf(issuer) });

/** The needs of the fields of an issuer. */
export function needsOf(issuer: IssuerChoice) {
  const preset = presetIn(issuer);
  return {
    exampleUrl: serviceOf(issuer)?.example,
    isUrlRequired: preset === undefined || PRESETS[preset].url === undefined,
    /** The server refuses a rule without a claim that is never reassigned. */
    isClaimRequired: knownOf(issuer) !== undefined,
  };
}

export type ClaimRow = { readonly claim: string; readonly value: string };

/** The claim to require, for its value to be filled in. */
export function suggestedClaims(issuer: IssuerChoice): readonly ClaimRow[] {
  const claim = serviceOf(issuer)?.claim ?? knownOf(issuer)?.immutable[0];
  return claim === undefined ? [] : [{ claim, value: "" }];
}

type Chosen = {
  readonly issuer: IssuerChoice;
  readonly url: string;
  readonly audiences: string;
  readonly claims: readonly ClaimRow[];
};

/** Another issuer keeps what was filled in. `origin`: the audience that a rule begins with. */
export function withIssuer(issuer: IssuerChoice, { issuer: before, ...draft }: Chosen, origin: string): Chosen {
  const audience = serviceOf(issuer)?.hasAudience === true ? "" : origin;
  return {
    issuer,
    url: sharedUrlOf(issuer) ?? (draft.url === sharedUrlOf(before) ? "" : draft.url),
    audiences: [origin, ""].includes(draft.audiences) ? audience : draft.audiences,
    claims: draft.claims.some(({ value }) => value.trim() !== "") ? draft.claims : suggestedClaims(issuer),
  };
}
