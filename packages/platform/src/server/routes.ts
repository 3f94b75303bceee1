// All paths that features answer beside the resources: each list is in the order in which it is asked.

import type { Replicas } from "@postern/apiserver/storage/replicas";
import { leakRoute } from "../features/access-keys/routes/index.ts";
import type { ReportedValue } from "../features/access-keys/routes/leak-reports.ts";
import { activityRoute } from "../features/activity/activity-route.ts";
import type { ActivitySnapshot } from "../features/activity/activity-snapshot.ts";
import type { ServerActivity } from "../features/activity/server-activity.ts";
import { auditSearchRoute } from "../features/audit/audit-route.ts";
import { joinRoute, tunnelRoute } from "../features/cluster-tunnels/routes/index.ts";
import type { ConsoleBuild } from "../features/console/console-build.ts";
import { consoleRoute } from "../features/console/console-route.ts";
import { documentationRoute, type LoadDocumentation } from "../features/documentation/documentation-route.ts";
import { scimRoute } from "../features/scim/scim-routes.ts";
import { recordingsRoutes } from "../features/session-recordings/recordings-route.ts";
import { signInRoute } from "../features/sign-in/feature.ts";
import type { SignInRoutesDeps } from "../features/sign-in/sign-in-deps.ts";
import { PROFILE_PATH } from "../features/sign-in/sign-in-paths.ts";
import { exchangeRoute } from "../features/trust/routes/index.ts";
import type { PlatformEndpoint } from "../features/virtual-clusters/platform-endpoint.ts";
import { readingOf } from "../features/wrapped-values/reading-of.ts";
import { unwrapRoute } from "../features/wrapped-values/routes/unwrap-route.ts";
import type { FeatureRoute, ManagementRoute } from "../foundation/http/feature-route.ts";
import type { CallManagement } from "../foundation/http/management-call.ts";
import type { ServerStore } from "../foundation/store/open-server-store.ts";
import { backupRoute } from "../operations/backup/backup-route.ts";
import { doctorRoute, type Examine } from "../operations/doctor-route.ts";
import { keyRingRoute } from "../operations/reencryption/key-ring-route.ts";
import { authorityRoute } from "./authority-route.ts";
import type { Platform } from "./compose.ts";

export type FeatureRouteParts = Pick<SignInRoutesDeps, "administrator"> & {
  /** Undefined: there is no console in this process. */
  readonly loadConsole: (() => Promise<ConsoleBuild>) | undefined;
  /** Undefined: there is no documentation in this process. */
  readonly loadDocumentation: LoadDocumentation | undefined;
  /** Where clients reach the platform. */
  readonly endpoint: PlatformEndpoint;
  /** Absent: no other server can be on this store. */
  readonly replicas: Replicas | undefined;
};

type ManagementCalls = {
  readonly call: CallManagement;
  /** As directories may use it. */
  readonly provision: CallManagement;
};

/** But for the page of the console, which also answers mistyped addresses. */
export function featureRoutes(
  { base, directory, keys, mint, trust, tunnels, clusters, signIn, certificates, delivery }: Platform,
  { administrator, endpoint, replicas, call, provision, ...parts }: FeatureRouteParts & ManagementCalls,
): { readonly routes: readonly FeatureRoute[]; readonly page: FeatureRoute | undefined } {
  const [loadConsole, loadDocumentation] = base.configuration.console
    ? [parts.loadConsole, parts.loadDocumentation]
    : [];
  const { publicUrl } = signIn;
  const { destinations } = clusters;
  const home = loadConsole === undefined ? PROFILE_PATH : "/";
  const { route: pages, grants } = signInRoute(base, { signIn, directory, keys, mint, call, administrator, home });
  const servers = async (): Promise<number> => (await replicas?.count()) ?? 1;
  const reportOther: ReportedValue = (value, context, options) =>
    delivery.values.report(value, readingOf(context), options);
  return {
    routes: [
      leakRoute(base, { keys, reportOther }),
      unwrapRoute(base, { delivery, keys, certificates, directory }),
      exchangeRoute(base, { trust, keys, mint, grants }),
      pages,
      scimRoute(base, { keys, call: provision, publicUrl }),
      tunnelRoute(base, { tunnels, keys, servers, destinations, endpoint }),
      joinRoute(base, { tunnels, keys, endpoint }),
      ...(loadDocumentation === undefined ? [] : [documentationRoute(base, loadDocumentation)]),
    ],
    page: loadConsole && consoleRoute(base, loadConsole, endpoint),
  };
}

export type ManagementRouteParts = {
  readonly store: ServerStore;
  readonly endpoint: PlatformEndpoint;
  /** Adds that of the other servers of this process. Undefined: this is the only one. */
  readonly readActivity: ((own: Pick<ServerActivity, "read">) => Promise<ActivitySnapshot>) | undefined;
  /** The newest file of the audit log; undefined if it goes to standard output. */
  readonly auditPath: string | undefined;
  readonly examine: Examine;
};

/** For the operators of the server: behind the chain of the management API. */
export const managementRoutes = (
  { base, keys, certificates, granted, clusters, activity, recordings }: Platform,
  { store, endpoint, readActivity, auditPath, examine }: ManagementRouteParts,
): readonly ManagementRoute[] => [
  activityRoute(base, { activity, keys: keys.index, readActivity }),
  authorityRoute(base, { keys, certificates, clusters, endpoint }),
  auditSearchRoute(base, auditPath),
  backupRoute(base, { keys, certificates, granted, store }),
  doctorRoute(base, examine),
  keyRingRoute(base, { keys, store }),
  ...recordingsRoutes(recordings),
];
