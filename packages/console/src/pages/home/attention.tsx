// The part of the home page for what needs attention, the most severe first: keys, grouped by why, clusters that are not ready, and what else waits or does
// not work.

import type { Cluster } from "@postern/api/cluster";
import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { Link } from "@tanstack/react-router";
import { CircleCheck } from "lucide-react";
import type { ReactNode } from "react";
import { nameOf, titleOf } from "../../api/resources.ts";
import { Badge, type Tone } from "../../components/badge.tsx";
import { Loading } from "../../components/loading.tsx";
import { Time } from "../../components/time.tsx";
import { projectOf } from "../../settings.ts";
import { counted, named, sentence, t } from "../../texts/text.tsx";
import { ClusterBadge } from "../clusters/cluster-badge.tsx";
import { HostBadge } from "../hosts/host-badge.tsx";
import { type Attention, keyState, type Moment, ownerOf } from "../keys/key-state.ts";
import { CountedKeyName } from "./counted-key-name.tsx";
import type { KeyCounts } from "./key-counts.ts";
import type { CountedKey } from "./use-activity.ts";
import { TROUBLES, type TroubleLine, useTroubles } from "./use-troubles.ts";

const SHOWN = 5;

/** In the order of the page: `urgent` does not work or is leaked, `soon` will not work or waits, `advice` works. */
const SEVERITIES = ["urgent", "soon", "advice"] as const;
type Severity = (typeof SEVERITIES)[number];
const TONES: { readonly [severity in Severity]: Tone } = { urgent: "bad", soon: "warn", advice: "info" };

/** In the order within one severity. */
const KEYS: { readonly [attention in Attention]: Severity } = {
  refused: "urgent",
  ending: "soon",
  first: "advice",
  permanent: "advice",
  unused: "advice",
};

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
  // A key that the server refuses is named once, with the refusals.
  const refusals = new Map(refusedKeys.map(({ name, count }) => [name, count]));
  const shown = new Set(attention.refused.map(nameOf));
  const others = refusedKeys.filter(({ name = "" }) => !shown.has(name));
  const { troubles, isLoading } = useTroubles();
  const keys = (Object.keys(KEYS) as Attention[]).filter((id) => attention[id].length > 0);
  const found = TROUBLES.filter((kind) => troubles[kind].length > 0);
  const cards: readonly (readonly [severity: Severity, card: ReactNode])[] = [
    ...keys.map(
      (id) =>
        [KEYS[id], <KeyGroup key={id} attention={id} keys={attention[id]} refusals={refusals} now={now} />] as const,
    ),
    ...(hosts.length + clusters.length === 0
      ? []
      : [[severityOfClusters(hosts), <NotReady key="clusters" hosts={hosts} clusters={clusters} />] as const]),
    ...found.map(
      (kind) =>
        [
          severityOfTrouble(kind, troubles[kind]),
          <TroubleCard key={kind} kind={kind} lines={troubles[kind]} />,
        ] as const,
    ),
    ...(others.length === 0 ? [] : [["soon", <RefusedKeys key="refusals" keys={others} />] as const]),
  ];
  if (cards.length === 0)
    return isLoading ? (
      <Loading />
    ) : (
      <p className="all-good">
        <CircleCheck aria-hidden="true" />
        {t("overview.nothing")}
      </p>
    );
  return SEVERITIES.map((severity) => {
    const ofSeverity = cards.filter(([of]) => of === severity);
    if (ofSeverity.length === 0) return null;
    return (
      <section key={severity} className="stack" aria-labelledby={`attention-${severity}`}>
        <h3 id={`attention-${severity}`} className="severity">
          <Badge tone={TONES[severity]}>{t(`home.severity.${severity}`)}</Badge>
          <span className="hint">{t(`home.severity.${severity}.hint`)}</span>
        </h3>
        <div className="attention">{ofSeverity.map(([, card]) => card)}</div>
      </section>
    );
  });
}

/** A cluster that was reached before does not work now; one that is new waits for its first connection. */
const severityOfClusters = (hosts: readonly Cluster[]): Severity =>
  hosts.some(({ status }) => status?.phase === "Failed") ? "urgent" : "soon";

const severityOfTrouble = (kind: (typeof TROUBLES)[number], lines: readonly TroubleLine[]): Severity =>
  kind === "issuers" || lines.some(({ isUrgent }) => isUrgent) ? "urgent" : kind === "waiting" ? "soon" : "advice";

/** The reason, in the server's words, is below each name. */
function NotReady(props: { readonly hosts: readonly Cluster[]; readonly clusters: readonly VirtualClusterInstance[] }) {
  const hosts = props.hosts.toSorted((one, other) => Number(isPending(one)) - Number(isPending(other)));
  const { clusters } = props;
  return (
    <Card title={t("overview.notReady")} count={hosts.length + clusters.length} hint={t("overview.notReady.hint")}>
      {hosts.slice(0, SHOWN).map((cluster) => (
        <li key={cluster.metadata.uid}>
          <span className="two-lines">
            <Link to="/host-clusters/$name" params={{ name: nameOf(cluster) }}>
              {titleOf(cluster)}
            </Link>
            <Reason text={cluster.status?.message} />
          </span>
          <HostBadge cluster={cluster} />
        </li>
      ))}
      {clusters.slice(0, SHOWN).map((cluster) => {
        const project = projectOf(cluster.metadata.namespace ?? "");
        return (
          <li key={cluster.metadata.uid}>
            <span className="two-lines">
              <Link to="/clusters/$project/$name" params={{ project, name: nameOf(cluster) }}>
                {project} / {titleOf(cluster)}
              </Link>
              <Reason text={cluster.status?.message} />
            </span>
            <ClusterBadge cluster={cluster} />
          </li>
        );
      })}
    </Card>
  );
}

const isPending = ({ status }: Cluster): boolean => status?.phase !== "Failed";

function Reason({ text = "" }: { readonly text: string | undefined }) {
  return text === "" ? null : <span className="muted">{sentence(text)}</span>;
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
      <h4>
        {title} <span className="muted">{count}</span>
      </h4>
      <p className="hint">{hint}</p>
      <ul className="lines">{children}</ul>
      {more}
    </article>
  );
}

function KeyGroup(props: {
  readonly attention: Attention;
  readonly keys: readonly OwnedAccessKey[];
  /** The refusals of the last day, by name. */
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
  const { status } = accessKey;
  return (
    <li>
      <span className="two-lines">
        <Link to="/keys/$name" params={{ name: nameOf(accessKey) }}>
          {titleOf(accessKey)}
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
              {t("time.expires")} <Time at={status?.expirationTimestamp} otherwise="" />
            </>
          ) : (
            <>
              {status?.lastActivity != null && `${t("time.used")} `}
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
