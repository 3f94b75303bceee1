// The part of the home page for what needs attention: keys, grouped by why, clusters that are not ready, and what else waits or does not work.

import type { Cluster } from "@postern/api/cluster";
import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { Link } from "@tanstack/react-router";
import { CircleCheck } from "lucide-react";
import type { ReactNode } from "react";
import { nameOf } from "../../api/resources.ts";
import { Badge } from "../../components/badge.tsx";
import { Loading } from "../../components/loading.tsx";
import { Time } from "../../components/time.tsx";
import { projectOf } from "../../settings.ts";
import { counted, named, t } from "../../texts/text.tsx";
import { ClusterBadge } from "../clusters/cluster-badge.tsx";
import { HostBadge } from "../hosts/host-badge.tsx";
import { type Attention, keyState, type Moment, ownerOf } from "../keys/key-state.ts";
import { CountedKeyName } from "./counted-key-name.tsx";
import type { KeyCounts } from "./key-counts.ts";
import type { CountedKey } from "./use-activity.ts";
import { TROUBLES, type TroubleLine, useTroubles } from "./use-troubles.ts";

const ORDER: readonly Attention[] = ["refused", "first", "ending", "unused", "permanent"];
const SHOWN = 5;

/** The filter of the key list that shows all of a group. */
const FILTERS: { readonly [attention in Attention]: string } = {
  first: "permanent",
  refused: "refused",
  ending: "ending",
  unused: "idle",
  permanent: "permanent",
};

type Refusals = ReadonlyMap<string | undefined, number>;

export function AttentionCards(props: {
  readonly attention: KeyCounts["attention"];
  readonly refusedKeys: readonly CountedKey[];
  readonly hosts: readonly Cluster[];
  readonly clusters: readonly VirtualClusterInstance[];
  readonly now: Moment;
}) {
  const { attention, refusedKeys, hosts, clusters, now } = props;
  const groups = ORDER.filter((id) => attention[id].length > 0);
  const notReady = hosts.length + clusters.length;
  // A key that the server refuses is named once, with the refusals.
  const refusals = new Map(refusedKeys.map(({ name, count }) => [name, count]));
  const shown = new Set(attention.refused.map(nameOf));
  const others = refusedKeys.filter(({ name = "" }) => !shown.has(name));
  const { troubles, isLoading } = useTroubles();
  const found = TROUBLES.filter((kind) => troubles[kind].length > 0);
  if (groups.length + others.length + notReady + found.length === 0)
    return isLoading ? (
      <Loading />
    ) : (
      <p className="all-good">
        <CircleCheck aria-hidden="true" />
        {t("overview.nothing")}
      </p>
    );
  const groupOf = (id: Attention) => (
    <KeyGroup key={id} attention={id} keys={attention[id]} refusals={refusals} now={now} />
  );
  return (
    <div className="attention">
      {groups.filter((id) => id === "refused").map(groupOf)}
      {found.map((kind) => (
        <TroubleCard key={kind} kind={kind} lines={troubles[kind]} />
      ))}
      {groups.filter((id) => id !== "refused").map(groupOf)}
      {others.length > 0 && <RefusedKeys keys={others} />}
      {notReady > 0 && (
        <Card title={t("overview.notReady")} count={notReady} hint={t("overview.notReady.hint")}>
          {hosts.slice(0, SHOWN).map((cluster) => (
            <li key={cluster.metadata.uid}>
              <Link to="/host-clusters/$name" params={{ name: nameOf(cluster) }}>
                {cluster.spec?.displayName || nameOf(cluster)}
              </Link>
              <HostBadge cluster={cluster} />
            </li>
          ))}
          {clusters.slice(0, SHOWN).map((cluster) => {
            const project = projectOf(cluster.metadata.namespace ?? "");
            return (
              <li key={cluster.metadata.uid}>
                <Link to="/clusters/$project/$name" params={{ project, name: nameOf(cluster) }}>
                  {project} / {cluster.spec?.displayName || nameOf(cluster)}
                </Link>
                <ClusterBadge cluster={cluster} />
              </li>
            );
          })}
        </Card>
      )}
    </div>
  );
}

function Card(props: {
  readonly title: string;
  readonly count: number;
  readonly hint: string;
  readonly children: ReactNode;
  readonly more?: ReactNode;
}) {
  const { title, count, hint, children, more } = props;
  return (
    <article className="card">
      <h3>
        {title} <span className="muted">{count}</span>
      </h3>
      <p className="hint">{hint}</p>
      <ul className="lines">{children}</ul>
      {more}
    </article>
  );
}

function KeyGroup(props: {
  readonly attention: Attention;
  readonly keys: readonly OwnedAccessKey[];
  /** Of the last day, by name. */
  readonly refusals: Refusals;
  readonly now: Moment;
}) {
  const { attention, keys, refusals, now } = props;
  const left = keys.length - SHOWN;
  return (
    <Card
      title={t(`overview.${attention}`)}
      count={keys.length}
      hint={t(`overview.${attention}.hint`)}
      more={
        left > 0 && (
          <Link to="/keys" search={{ state: FILTERS[attention] }}>
            {counted("overview.more", left)}
          </Link>
        )
      }
    >
      {keys.slice(0, SHOWN).map((key) => (
        <KeyLine key={key.metadata.uid} accessKey={key} refusals={refusals.get(nameOf(key)) ?? 0} now={now} />
      ))}
    </Card>
  );
}

function KeyLine(props: { readonly accessKey: OwnedAccessKey; readonly refusals: number; readonly now: Moment }) {
  const { accessKey, refusals, now } = props;
  const { id, tone } = keyState(accessKey, now);
  const { status, spec } = accessKey;
  return (
    <li>
      <span className="two-lines">
        <Link to="/keys/$name" params={{ name: nameOf(accessKey) }}>
          {spec?.displayName || nameOf(accessKey)}
        </Link>
        <span className="muted">
          {ownerOf(accessKey).name}
          {tone === "bad" && refusals > 0 && ` · ${counted("home.refusals", refusals)}`}
        </span>
      </span>
      {tone === "bad" ? (
        <Badge tone={tone}>{named("key.state", id)}</Badge>
      ) : (
        <span className="muted">
          {id === "ExpiresSoon" ? (
            <>
              {t("home.expires")} <Time at={status?.expirationTimestamp} otherwise="" />
            </>
          ) : (
            <>
              {status?.lastActivity != null && `${t("home.lastUsed")} `}
              <Time at={status?.lastActivity} otherwise={t("key.neverUsed")} />
            </>
          )}
        </span>
      )}
    </li>
  );
}

/** Where the rest of a card is. */
const ALL: { readonly [kind in (typeof TROUBLES)[number]]: string } = {
  waiting: "/access-requests",
  issuers: "/trust",
  doctor: "/about",
};

function TroubleCard(props: { readonly kind: keyof typeof ALL; readonly lines: readonly TroubleLine[] }) {
  const { kind, lines } = props;
  const left = lines.length - SHOWN;
  return (
    <Card
      title={t(`home.${kind}`)}
      count={lines.length}
      hint={t(`home.${kind}.hint`)}
      more={left > 0 && <Link to={ALL[kind]}>{counted("overview.more", left)}</Link>}
    >
      {lines.slice(0, SHOWN).map(({ id, to, title, note }) => (
        <li key={id}>
          <span className="two-lines">
            <Link to={to}>{title}</Link>
            <span className="muted">{note}</span>
          </span>
        </li>
      ))}
    </Card>
  );
}

/** The server counts them: also keys that are valid and ask for what they may not. */
function RefusedKeys({ keys }: { readonly keys: readonly CountedKey[] }) {
  return (
    <Card title={t("home.refusedKeys")} count={keys.length} hint={t("home.refusedKeys.hint")}>
      {keys.slice(0, SHOWN).map((key) => (
        <li key={key.id}>
          <span className="two-lines">
            <CountedKeyName of={key} />
          </span>
          <span className="muted">{counted("home.refusals", key.count)}</span>
        </li>
      ))}
    </Card>
  );
}
