// The first page: what needs attention, the next steps of a new installation, what happened lately, and for members what they can do.

import type { Cluster } from "@postern/api/cluster";
import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { Link, lazyRouteComponent } from "@tanstack/react-router";
import { Suspense, useMemo } from "react";
import { useApi } from "../../api/api-context.tsx";
import { AUDIT_PATH } from "../../api/audit-search.ts";
import { ACCESS_KEYS, CLUSTERS, VIRTUAL_CLUSTERS } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { useMay } from "../../api/use-may.ts";
import { NewObjectLink } from "../../components/forms/new-object-link.tsx";
import { Loading } from "../../components/loading.tsx";
import { ErrorNotice } from "../../components/notice.tsx";
import { PageHead, Section } from "../../components/page-head.tsx";
import { counted, numberText, Text, t } from "../../texts/text.tsx";
import { useMoment } from "../keys/key-state-badge.tsx";
import { AttentionCards } from "./attention.tsx";
import { countKeys } from "./key-counts.ts";
import { NextSteps } from "./next-steps.tsx";
import { type Activity, useActivity } from "./use-activity.ts";

// Loaded after the page can be used: they are below what needs attention.
const HomePlots = lazyRouteComponent(() => import("./home-plots.tsx"), "HomePlots");
const MemberHome = lazyRouteComponent(() => import("./member-home.tsx"), "MemberHome");

const HOUR_MINUTES = 60;
const HOUR_SECONDS = "3600";

export function HomePage() {
  const { session } = useApi();
  const keys = useLive<OwnedAccessKey>(ACCESS_KEYS);
  const clusters = useLive<VirtualClusterInstance>(VIRTUAL_CLUSTERS);
  const now = useMoment();
  const counts = useMemo(() => countKeys(keys.items, now), [keys.items, now]);
  const mayListHosts = useMay({ verb: "list", resource: "clusters" });
  const mayProject = useMay({ verb: "create", resource: "projects" });
  const hosts = useLive<Cluster>(CLUSTERS, { isWanted: mayListHosts.isAllowed });
  const { activity } = useActivity();
  const lostHosts = hosts.items.filter(({ status }) => status?.phase !== "Initialized");
  const notReady = useMemo(
    () => clusters.items.filter(({ status }) => !["Ready", "Sleeping"].includes(status?.phase ?? "")),
    [clusters.items],
  );
  const isLoading = keys.isLoading || clusters.isLoading;
  const error = keys.error ?? clusters.error;
  const isReady = !isLoading && error === null;
  return (
    <>
      <PageHead
        title={t("nav.overview")}
        lead={<Text id="overview.lead" values={{ name: <strong>{session.displayName}</strong> }} />}
        actions={<NewObjectLink to="/new/key" resource="ownedaccesskeys" label={t("key.create")} />}
      />
      {error !== null && <ErrorNotice error={error} />}
      <ul className="tiles">
        <Tile
          to="/keys"
          count={keys.isLoading ? undefined : counts.valid}
          label={counted("overview.keys", counts.valid)}
        />
        <Tile
          to="/clusters"
          count={clusters.isLoading ? undefined : clusters.items.length}
          label={counted("overview.clusters", clusters.items.length)}
        />
        {activity !== undefined && <ActivityTiles activity={activity} />}
      </ul>
      {isReady && mayProject.isKnown && !mayProject.isAllowed && (
        <Suspense fallback={<Loading />}>
          <MemberHome clusters={clusters.items} />
        </Suspense>
      )}
      <Section title={t("overview.attention")}>
        {isLoading ? (
          <Loading />
        ) : (
          <AttentionCards
            attention={counts.attention}
            refusedKeys={activity?.refusedKeys ?? []}
            hosts={lostHosts}
            clusters={notReady}
            now={now}
          />
        )}
      </Section>
      {isReady && <NextSteps keys={keys.items} clusters={clusters.items} activity={activity} now={now.now} />}
      {isReady && (
        <Suspense fallback={<Loading />}>
          <HomePlots counts={counts} activity={activity} />
        </Suspense>
      )}
    </>
  );
}

/** The activity of the last hour, from the server's memory. */
function ActivityTiles({ activity }: { readonly activity: Activity }) {
  const lastHour = (counts: readonly number[]): number =>
    counts.slice(-HOUR_MINUTES).reduce((sum, each) => sum + each, 0);
  const mayAudit = useMay({ verb: "get", path: AUDIT_PATH });
  /** To what a tile counts: of one hour, also for the pages of the console. */
  const linkTo = (show: string) =>
    mayAudit.isAllowed ? { to: "/audit", search: { show, since: HOUR_SECONDS, pages: "true" } } : {};
  return (
    <>
      <Tile {...linkTo("all")} count={lastHour(activity.requests)} label={t("home.requests.hour")} />
      <Tile {...linkTo("refused")} count={lastHour(activity.refused)} label={t("home.refused.hour")} />
      <Tile count={activity.openWatches} label={counted("home.watches", activity.openWatches)} />
    </>
  );
}

/** `count` is undefined while it is not known. Without `to` it leads nowhere. */
function Tile(props: {
  readonly to?: string;
  readonly search?: { readonly [name: string]: string };
  readonly count: number | undefined;
  readonly label: string;
}) {
  const { to, search, count, label } = props;
  const content = (
    <>
      <strong>{count === undefined ? "–" : numberText(count)}</strong>
      <span>{label}</span>
    </>
  );
  return (
    <li>
      {to === undefined ? (
        <div className="tile">{content}</div>
      ) : (
        <Link to={to} {...(search === undefined ? {} : { search })} className="tile">
          {content}
        </Link>
      )}
    </li>
  );
}
