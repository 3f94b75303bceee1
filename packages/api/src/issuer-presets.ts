// Presets for issuers of CI identities: their URLs, and the claims that never change.

import { trimTrailing } from "@postern/apimachinery/text/trim-trailing";

export const ISSUER_PRESETS = ["github", "gitlab", "buildkite", "kubernetes"] as const;
export type IssuerPreset = (typeof ISSUER_PRESETS)[number];

/** `issuer` of a rule. */
type IssuerFields = { readonly preset?: IssuerPreset | undefined; readonly url?: string | undefined };

type Preset = {
  /** URL of the public service. Undefined: each installation has its own. */
  readonly url: string | undefined;
  /** Names can be reassigned, these claims cannot: a rule requires at least one of them. */
  readonly immutable: readonly string[];
  /** Form of their values: a name in their place matches nothing, or the wrong one. */
  readonly form: RegExp;
  readonly formText: string;
};

const NUMBER = { form: /^[1-9][0-9]{0,18}$/, formText: "must be a number: it stays when the name changes" };
const UUID = {
  form: /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
  formText: "must be a UUID: it stays when the name changes",
};

/** Sources: docs.github.com/actions/reference/security/oidc, docs.gitlab.com/ci/secrets/id_token_authentication, buildkite.com/docs/agent/v3/cli-oidc, kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin */
export const PRESETS: { readonly [name in IssuerPreset]: Preset } = {
  github: {
    url: "https://token.actions.githubusercontent.com",
    immutable: ["repository_id", "repository_owner_id"],
    ...NUMBER,
  },
  gitlab: { url: "https://gitlab.com", immutable: ["project_id", "namespace_id"], ...NUMBER },
  buildkite: { url: "https://agent.buildkite.com", immutable: ["pipeline_id", "organization_id"], ...UUID },
  kubernetes: { url: undefined, immutable: ["/kubernetes.io/serviceaccount/uid"], ...UUID },
};

/**
 * Public services with one issuer for all customers, each of which chooses the audience: a rule that names no customer would accept the jobs of all.
 * Sources: developer.hashicorp.com/terraform/cloud-docs/workspaces/dynamic-provider-credentials/workload-identity-tokens, cloud.google.com/docs/authentication/get-id-token
 */
const SHARED: readonly Preset[] = [
  {
    url: "https://app.terraform.io",
    immutable: ["terraform_workspace_id", "terraform_project_id", "terraform_organization_id"],
    form: /^(ws|prj|org)-[A-Za-z0-9]+$/,
    formText: "must be an ID, such as ws-mbsd5E3Ktt5Rg2Xm: it stays when the name changes",
  },
  {
    url: "https://accounts.google.com",
    immutable: ["sub"],
    form: /^[1-9][0-9]{9,29}$/,
    formText: "must be the unique ID of the service account, a number: it stays when the name changes",
  },
];

/** The preset of a rule: by name, or by the address of the public service, so that leaving the name out does not evade it. */
export function presetOf({ preset, url }: IssuerFields): Preset | undefined {
  const named = ISSUER_PRESETS.find((name) => name === preset);
  if (named !== undefined) return PRESETS[named];
  return [...Object.values(PRESETS), ...SHARED].find(
    (each) => each.url !== undefined && each.url === comparable(url ?? ""),
  );
}

/** The `iss` that a rule is about; "" where it says none. */
export const issuerUrlOf = (issuer: IssuerFields): string => issuer.url ?? presetOf(issuer)?.url ?? "";

function comparable(url: string): string {
  try {
    const { origin, pathname, search } = new URL(url);
    return `${origin}${trimTrailing(pathname, "/")}${search}`;
  } catch {
    return url;
  }
}
