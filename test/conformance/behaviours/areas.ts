// All behaviours of kube-apiserver that clients can see, area by area. Cases are named by these ids.

import { AUTHENTICATION } from "./authentication.ts";
import { AUTHORIZATION_AND_REVIEWS } from "./authorization-and-reviews.ts";
import type { BehaviourLines } from "./behaviour-lines.ts";
import { CONTENT_NEGOTIATION } from "./content-negotiation.ts";
import { CREATION } from "./creation.ts";
import { DELETION } from "./deletion.ts";
import { DISCOVERY } from "./discovery.ts";
import { DRY_RUN } from "./dry-run.ts";
import { ERROR_BODIES } from "./error-bodies.ts";
import { HEALTH_AND_METRICS } from "./health-and-metrics.ts";
import { IMPERSONATION } from "./impersonation.ts";
import { KUBECTL } from "./kubectl.ts";
import { LIMITS_AND_AUDIT } from "./limits-and-audit.ts";
import { LISTS } from "./lists.ts";
import { OPEN_API } from "./open-api.ts";
import { OTHER_CLIENTS } from "./other-clients.ts";
import { OWNERS_AND_NAMESPACES } from "./owners-and-namespaces.ts";
import { PATCHES } from "./patches.ts";
import { PATHS_AND_VERBS } from "./paths-and-verbs.ts";
import { SELECTORS } from "./selectors.ts";
import { SERVER_SIDE_APPLY } from "./server-side-apply.ts";
import { SUBRESOURCES } from "./subresources.ts";
import { TABLES } from "./tables.ts";
import { UPDATES } from "./updates.ts";
import { VALIDATION } from "./validation.ts";
import { WATCHES } from "./watches.ts";

export type Area = { readonly title: string; readonly behaviours: BehaviourLines };

/** In the order in which people read them. */
export const AREAS: readonly Area[] = [
  { title: "Paths, verbs and success codes", behaviours: PATHS_AND_VERBS },
  { title: "Content negotiation", behaviours: CONTENT_NEGOTIATION },
  { title: "Status error bodies", behaviours: ERROR_BODIES },
  { title: "Create and generateName", behaviours: CREATION },
  { title: "Update", behaviours: UPDATES },
  { title: "Patch", behaviours: PATCHES },
  { title: "Server-side apply and managedFields", behaviours: SERVER_SIDE_APPLY },
  { title: "Delete, finalizers, deletecollection", behaviours: DELETION },
  { title: "Owners, garbage collection, namespaces", behaviours: OWNERS_AND_NAMESPACES },
  { title: "List", behaviours: LISTS },
  { title: "Selectors", behaviours: SELECTORS },
  { title: "Watch", behaviours: WATCHES },
  { title: "Dry run", behaviours: DRY_RUN },
  { title: "Decoding, field validation, schema", behaviours: VALIDATION },
  { title: "Table and PartialObjectMetadata", behaviours: TABLES },
  { title: "Discovery", behaviours: DISCOVERY },
  { title: "OpenAPI", behaviours: OPEN_API },
  { title: "Version, health, metrics", behaviours: HEALTH_AND_METRICS },
  { title: "Authentication", behaviours: AUTHENTICATION },
  { title: "Authorization and reviews", behaviours: AUTHORIZATION_AND_REVIEWS },
  { title: "Impersonation", behaviours: IMPERSONATION },
  { title: "Limits, audit, headers", behaviours: LIMITS_AND_AUDIT },
  { title: "Subresources", behaviours: SUBRESOURCES },
  { title: "Sequences of kubectl", behaviours: KUBECTL },
  { title: "Other clients", behaviours: OTHER_CLIENTS },
];

/** Every id of every area. */
export const BEHAVIOUR_IDS: ReadonlySet<string> = new Set(AREAS.flatMap(({ behaviours }) => Object.keys(behaviours)));
