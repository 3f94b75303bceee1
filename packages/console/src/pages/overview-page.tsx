// The number of keys and virtual clusters, the next steps of a new installation, and items that need attention.

import type { Cluster } from "@postern/api/cluster";
import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { Link } from "@tanstack/react-router";
import { CircleCheck } from "lucide-react";
import { useMemo } from "react";
import { useApi } from "../api/api-context.tsx";
import { ACCESS_KEYS, CLUSTERS, nameOf, VIRTUAL_CLUSTERS } from "../api/resources.ts";
import { useLive } from "../api/use-live.ts";
import { useMay } from "../api/use-may.ts";
import { Badge } from "../components/badge.tsx";
import { Loading } from "../components/loading.tsx";
import { NewObjectLink } from "../components/new-object-link.tsx";
import { ErrorNotice } from "../components/notice.tsx";
import { PageHead, Section } from "../components/page-head.tsx";
import { Time } from "../components/time.tsx";
import { projectOf } from "../settings.ts";
import { counted, named, numberText, Text, t } from "../texts/text.tsx";
import { ClusterBadge } from "./clusters/cluster-badge.tsx";
import { HostBadge } from "./hosts/host-badge.tsx";
import { type Attention, attentionOf, isTemporary, keyState, type Moment, ownerOf } from "./keys/key-state.ts";
import { useMoment } from "./keys/key-state-badge.tsx";
import { NextSteps } from "./next-steps.tsx";

const ORDER: readonly Attention[] = ["refused", "ending", "unused"];
const SHOWN = 6;

/** The keys that need attention, and the number of valid ones, in one pass over all keys. */
function overviewOf(keys: readonly OwnedAccessKey[], now: Moment) {
  const found: { readonly [attention in Attention]: OwnedAccessKey[] } = { refused: [], ending: [], unused: [] };
  let good = 0;
  for (const key of keys) {
    const state = keyState(key, now);
    const attention = attentionOf(key, now, state);
    if (attention !== undefined) found[attention].push(key);
    if (!isTemporary(key) && (state.tone === "good" || state.tone === "warn")) good++;
  }
  const groups = ORDER.map((attention) => ({ attention, list: found[attention] })).filter(
    ({ list }) => list.length > 0,
  );
  return { groups, good };
}

export function OverviewPage() {
  const { session } = useApi();
  const keys = useLive<OwnedAccessKey>(ACCESS_KEYS);
  const clusters = useLive<VirtualClusterInstance>(VIRTUAL_CLUSTERS);
  const now = useMoment();
  const { groups, good } = useMemo(() => overviewOf(keys.items, now), [keys.items, now]);
  const mayListHosts = useMay({ verb: "list", resource: "clusters" });
  const hosts = useLive<Cluster>(CLUSTERS, { isWanted: mayListHosts.isAllowed });
  const lostHosts = hosts.items.filter(({ status }) => status?.phase !== "Initialized");
  const notReady = clusters.items.filter(({ status }) => !["Ready", "Sleeping"].includes(status?.phase ?? ""));
  const isLoading = keys.isLoading || clusters.isLoading;
  const error = keys.error ?? clusters.error;
  return (
    <>
      <PageHead
        title={t("overview.title")}
        lead={<Text id="overview.lead" values={{ name: <strong>{session.displayName}</strong> }} />}
        actions={<NewObjectLink to="/new/key" resource="ownedaccesskeys" label={t("keys.create")} />}
      />
      {error !== null && <ErrorNotice error={error} />}
      <ul className="tiles">
        <Tile to="/keys" count={good} label={counted("overview.keys", good)} isLoading={keys.isLoading} />
        <Tile
          to="/clusters"
          count={clusters.items.length}
          label={counted("overview.clusters", clusters.items.length)}
          isLoading={clusters.isLoading}
        />
      </ul>
      {!isLoading && error === null && <NextSteps keys={keys.items} now={now.now} />}
      <Section title={t("overview.attention")}>
        {isLoading && <Loading />}
        {!isLoading && groups.length === 0 && notReady.length + lostHosts.length === 0 && (
          <p className="all-good">
            <CircleCheck aria-hidden="true" />
            {t("overview.nothing")}
          </p>
        )}
        <div className="attention">
          {groups.map(({ attention, list }) => (
            <article key={attention} className="card">
              <h3>
                {t(`overview.${attention}`)} <span className="muted">{list.length}</span>
              </h3>
              <p className="hint">{t(`overview.${attention}.hint`)}</p>
              <ul className="lines">
                {list.slice(0, SHOWN).map((key) => (
                  <KeyLine key={key.metadata.uid} accessKey={key} now={now} />
                ))}
              </ul>
              {list.length > SHOWN && (
                <Link to="/keys" search={{ state: attention === "refused" ? "attention" : attention }}>
                  {counted("overview.more", list.length - SHOWN)}
                </Link>
              )}
            </article>
          ))}
          {notReady.length + lostHosts.length > 0 && (
            <article className="card">
              <h3>
                {t("overview.notReady")} <span className="muted">{notReady.length + lostHosts.length}</span>
              </h3>
              <p className="hint">{t("overview.notReady.hint")}</p>
              <ul className="lines">
                {lostHosts.slice(0, SHOWN).map((cluster) => (
                  <li key={cluster.metadata.uid}>
                    <Link to="/host-clusters/$name" params={{ name: nameOf(cluster) }}>
                      {cluster.spec?.displayName || nameOf(cluster)}
                    </Link>
                    <HostBadge cluster={cluster} />
                  </li>
                ))}
                {notReady.slice(0, SHOWN).map((cluster) => (
                  <li key={cluster.metadata.uid}>
                    <Link
                      to="/clusters/$project/$name"
                      params={{ project: projectOf(cluster.metadata.namespace ?? ""), name: nameOf(cluster) }}
                    >
                      {cluster.spec?.displayName || nameOf(cluster)}
                    </Link>
                    <ClusterBadge cluster={cluster} />
                  </li>
                ))}
              </ul>
            </article>
          )}
        </div>
      </Section>
    </>
  );
}

function KeyLine({ accessKey, now }: { readonly accessKey: OwnedAccessKey; readonly now: Moment }) {
  const { id, tone } = keyState(accessKey, now);
  const { status, spec } = accessKey;
  return (
    <li>
      <span className="two-lines">
        <Link to="/keys/$name" params={{ name: nameOf(accessKey) }}>
          {spec?.displayName || nameOf(accessKey)}
        </Link>
        <span className="muted">{ownerOf(accessKey).name}</span>
      </span>
      {tone === "bad" ? (
        <Badge tone={tone}>{named("key.state", id)}</Badge>
      ) : (
        <span className="muted">
          {id === "ExpiresSoon" ? (
            <Time at={status?.expirationTimestamp} otherwise="" />
          ) : (
            <Time at={status?.lastActivity} otherwise={t("key.neverUsed")} />
          )}
        </span>
      )}
    </li>
  );
}

function Tile(props: {
  readonly to: string;
  readonly count: number;
  readonly label: string;
  readonly isLoading: boolean;
}) {
  const { to, count, label, isLoading } = props;
  return (
    <li>
      <Link to={to} className="tile">
        <strong>{isLoading ? "–" : numberText(count)}</strong>
        <span>{label}</span>
      </Link>
    </li>
  );
}
