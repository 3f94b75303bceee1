// The claims that issuers of CI identities publish, with the values of one job. iss, iat, nbf and exp are the signer's.

import { randomUUID } from "node:crypto";

/** Source: docs.github.com/en/actions/reference/security/oidc */
export const githubClaims = (claims: object = {}): { readonly [name: string]: unknown } => ({
  jti: randomUUID(),
  sub: "repo:octo-org/octo-repo:ref:refs/heads/main",
  aud: "https://postern.example",
  ref: "refs/heads/main",
  sha: "4a1f0c7f0b6d2f6d7e8c9b0a1d2e3f4a5b6c7d8e",
  repository: "octo-org/octo-repo",
  repository_owner: "octo-org",
  repository_owner_id: "65",
  run_id: "30433642",
  run_number: "7",
  run_attempt: "1",
  repository_visibility: "private",
  repository_id: "74",
  actor_id: "12",
  actor: "octocat",
  workflow: "deploy",
  head_ref: "",
  base_ref: "",
  event_name: "push",
  ref_protected: "true",
  ref_type: "branch",
  workflow_ref: "octo-org/octo-repo/.github/workflows/deploy.yml@refs/heads/main",
  workflow_sha: "4a1f0c7f0b6d2f6d7e8c9b0a1d2e3f4a5b6c7d8e",
  job_workflow_ref: "octo-org/octo-repo/.github/workflows/deploy.yml@refs/heads/main",
  job_workflow_sha: "4a1f0c7f0b6d2f6d7e8c9b0a1d2e3f4a5b6c7d8e",
  runner_environment: "github-hosted",
  ...claims,
});

/** Source: docs.gitlab.com/ci/secrets/id_token_authentication */
export const gitlabClaims = (claims: object = {}): { readonly [name: string]: unknown } => ({
  jti: randomUUID(),
  sub: "project_path:my-group/my-project:ref_type:branch:ref:main",
  aud: "https://postern.example",
  namespace_id: "72",
  namespace_path: "my-group",
  project_id: "20",
  project_path: "my-group/my-project",
  user_id: "1",
  user_login: "sample-user",
  user_email: "sample-user@example.com",
  user_access_level: "developer",
  pipeline_id: "574",
  pipeline_source: "push",
  job_id: "302",
  ref: "main",
  ref_type: "branch",
  ref_path: "refs/heads/main",
  ref_protected: "true",
  environment: "test-environment2",
  environment_protected: "false",
  deployment_tier: "testing",
  runner_id: 1,
  runner_environment: "self-hosted",
  sha: "714a629c0b401fdce83e847fc9589983fc6f46bc",
  project_visibility: "public",
  ci_config_ref_uri: "gitlab.example.com/my-group/my-project//.gitlab-ci.yml@refs/heads/main",
  ...claims,
});

/** Source: circleci.com/docs/openid-connect-tokens */
export const circleciClaims = (claims: object = {}): { readonly [name: string]: unknown } => ({
  sub: "org/4b2f1c3e-0000-4000-8000-000000000001/project/4b2f1c3e-0000-4000-8000-000000000002/user/4b2f1c3e-0000-4000-8000-000000000003/vcs-origin/github.com/octo/shop/vcs-ref/refs/heads/main",
  aud: "4b2f1c3e-0000-4000-8000-000000000001",
  "oidc.circleci.com/project-id": "4b2f1c3e-0000-4000-8000-000000000002",
  "oidc.circleci.com/context-ids": ["4b2f1c3e-0000-4000-8000-000000000004"],
  "oidc.circleci.com/ssh-rerun": false,
  ...claims,
});

/** Source: support.atlassian.com/bitbucket-cloud/docs/integrate-pipelines-with-resource-servers-using-oidc */
export const bitbucketClaims = (claims: object = {}): { readonly [name: string]: unknown } => ({
  sub: "{c3d1a5f0-0000-4000-8000-000000000001}:{c3d1a5f0-0000-4000-8000-000000000002}",
  aud: "ari:cloud:bitbucket::workspace/c3d1a5f0-0000-4000-8000-000000000003",
  branchName: "main",
  pipelineUuid: "{c3d1a5f0-0000-4000-8000-000000000004}",
  stepUuid: "{c3d1a5f0-0000-4000-8000-000000000002}",
  repositoryUuid: "{c3d1a5f0-0000-4000-8000-000000000001}",
  workspaceUuid: "{c3d1a5f0-0000-4000-8000-000000000003}",
  ...claims,
});

/** Source: developer.hashicorp.com/terraform/cloud-docs/workspaces/dynamic-provider-credentials/workload-identity-tokens */
export const terraformClaims = (claims: object = {}): { readonly [name: string]: unknown } => ({
  jti: randomUUID(),
  sub: "organization:my-org:project:Default Project:workspace:my-workspace:run_phase:apply",
  aud: "https://postern.example",
  terraform_run_phase: "apply",
  terraform_workspace_id: "ws-mbsd5E3Ktt5Rg2Xm",
  terraform_workspace_name: "my-workspace",
  terraform_project_id: "prj-vegSA59s1XPwMr2t",
  terraform_project_name: "Default Project",
  terraform_organization_id: "org-GRNbCjYNpBB6NEH9",
  terraform_organization_name: "my-org",
  terraform_run_id: "run-X3n1AUXNGWbfECsJ",
  terraform_full_workspace: "organization:my-org:project:Default Project:workspace:my-workspace",
  ...claims,
});

/** Source: docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_providers_outbound_token_claims.html */
export const awsClaims = (claims: object = {}): { readonly [name: string]: unknown } => ({
  jti: randomUUID(),
  sub: "arn:aws:iam::123456789012:role/DataProcessingRole",
  aud: "https://postern.example",
  "https://sts.amazonaws.com/": {
    aws_account: "123456789012",
    principal_id: "arn:aws:iam::123456789012:role/DataProcessingRole",
    request_tags: { environment: "production" },
  },
  ...claims,
});

/** With `--claim organization_id,pipeline_id`. Source: buildkite.com/docs/agent/v3/cli-oidc */
export const buildkiteClaims = (claims: object = {}): { readonly [name: string]: unknown } => ({
  sub: "organization:acme-inc:pipeline:super-duper-app:ref:refs/heads/main:commit:9f3182061f1e2cca4702c368cbc039b7dc9d4485:step:build",
  aud: "https://postern.example",
  organization_slug: "acme-inc",
  pipeline_slug: "super-duper-app",
  build_number: 1,
  build_branch: "main",
  build_tag: "v1.0.0",
  build_commit: "9f3182061f1e2cca4702c368cbc039b7dc9d4485",
  step_key: "build",
  job_id: "0184990a-477b-4fa8-9968-496074483cee",
  agent_id: "0184990a-4782-42b5-afc1-16715b10b8ff",
  build_source: "ui",
  runner_environment: "buildkite-hosted",
  organization_id: "f02d6a6f-7a0e-481d-9d6d-89b427aec48d",
  pipeline_id: "0184990a-477b-4fa8-9968-496074483c00",
  ...claims,
});
