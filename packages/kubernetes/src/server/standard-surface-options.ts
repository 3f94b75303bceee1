import type { LineageVerifier } from "@postern/apiserver/authentication/credential-lineage";
import type { TokenAuthenticator } from "@postern/apiserver/authentication/token-authenticator";
import type { WebhookMetrics } from "@postern/apiserver/metrics/webhook-metrics";
import type { WorkQueueMetrics } from "@postern/apiserver/metrics/work-queue-metrics";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { ApiSurfaceDeps } from "@postern/apiserver/server/api-surface";
import type { ApiAddress } from "../controllers/api-service/api-service-controller.ts";
import type { RootAuthority } from "../controllers/namespace-objects/namespace-objects.ts";
import type { CompiledDefinitions } from "../custom-resources/compiled-definitions.ts";
import type { ServiceAccountKeys } from "../service-accounts/service-account-key.ts";
import type { WebhookCaller } from "../webhooks/webhook-caller.ts";

export type StandardSurfaceDeps = Omit<ApiSurfaceDeps, "resources" | "admission" | "authorizer"> & {
  /** Authenticates the bearer token of a TokenReview. */
  readonly tokens: TokenAuthenticator;
  readonly audiences: readonly string[];
  /** Signs the tokens of ServiceAccounts. Absent: they get none, and namespaces get no ServiceAccount of their own. */
  readonly serviceAccountKeys?: ServiceAccountKeys;
  /** Judges what tokens of ServiceAccounts go back to. Absent: they go back to nothing. */
  readonly lineages?: LineageVerifier | undefined;
  /** The CA that verifies the server, published in every namespace. Absent: none is. */
  readonly rootAuthority?: RootAuthority | undefined;
  /** Resources beside the built-in ones. */
  readonly resources?: readonly ResourceDefinition[];
  /** Serves CustomResourceDefinitions and what they define; shared by all surfaces of a process. Absent: none can be created. */
  readonly customResources?: CompiledDefinitions | undefined;
  /** Serves the kinds that charts and controllers expect of a cluster. Absent: those of every surface alone. */
  readonly cluster?: ClusterOptions | undefined;
  /** Namespaces that are there from the start. */
  readonly namespaces?: readonly string[];
  readonly onControllerError: (error: unknown, subject: string) => void;
  /** Metrics of the controllers' work queues. Absent: none. */
  readonly queueMetrics?: WorkQueueMetrics | undefined;
};

export type ClusterOptions = {
  /** Whether workloads are kept as objects; otherwise they are refused, since there are no nodes. */
  readonly keepsWorkloads: () => boolean;
  /** Whether Jobs are taken for complete, though no pod of theirs runs. */
  readonly completesJobs: () => boolean;
  /** Whether controllers make pods of Deployments, Jobs and the like. Absent: they do not. */
  readonly runsWorkloads?: (() => boolean) | undefined;
  /** Asks its admission webhooks. */
  readonly webhooks: WebhookCaller;
  /** Its policies and webhooks annotate no audit events below this domain, which is that of the server. Absent: below those of Kubernetes alone. */
  readonly auditDomain?: string | undefined;
  /** Counts those calls. Absent: they are not counted. */
  readonly webhookMetrics?: WebhookMetrics | undefined;
  /** Address of its API, as in `ApiServiceDeps`. Absent: not known. */
  readonly apiAddress?: (() => ApiAddress | undefined) | undefined;
};
