// How often a key was used on each of the last days, what was refused of it, and where the requests came from: from the audit log of the server.

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useApi } from "../../../api/api-context.tsx";
import { AUDIT_PATH, type AuditCounts, searchAudit } from "../../../api/audit-search.ts";
import { useMay } from "../../../api/use-may.ts";
import { Loading } from "../../../components/loading.tsx";
import { Section } from "../../../components/page-head.tsx";
import { BarPlot } from "../../../components/plots/bar-plot.tsx";
import { Plot } from "../../../components/plots/plot.tsx";
import { dayOfMonth, dayText, startOfDay } from "../../../format/ages.ts";
import { counted, numberText, t } from "../../../texts/text.tsx";

const DAYS = 14;
const SINCE = String(DAYS * 86_400);
const FRESH_MS = 60_000;

export function KeyActivity({ name }: { readonly name: string }) {
  const { client } = useApi();
  const right = useMay({ verb: "get", path: AUDIT_PATH });
  const found = useQuery({
    queryKey: ["audit", "by-day", name],
    async queryFn({ signal }) {
      const since = new Date(startOfDay(Date.now(), 1 - DAYS)).toISOString();
      const until = new Date(startOfDay(Date.now(), 1)).toISOString();
      const query = { key: name, since, until, parts: String(DAYS), limit: "1" };
      return (await searchAudit(client, query, signal)).counts;
    },
    enabled: right.isAllowed,
    staleTime: FRESH_MS,
    retry: false,
  });
  if (!right.isAllowed) return null;
  return (
    <Section
      title={t("key.activity.title")}
      lead={t("key.activity.lead")}
      actions={
        <>
          <Link to="/audit" search={{ key: name, show: "refused", since: SINCE }} className="button plain">
            {t("key.activity.refused")}
          </Link>
          <Link to="/audit" search={{ key: name, show: "all", since: SINCE }} className="button plain">
            {t("key.activity.all")}
          </Link>
        </>
      }
    >
      {found.isLoading && <Loading />}
      {/* Where the log goes elsewhere, the server says so. */}
      {found.error !== null && <p className="muted">{found.error.message}</p>}
      {found.data !== undefined && (
        <div className="plots">
          <ByDay name={name} counts={found.data} />
          <Sources counts={found.data} />
        </div>
      )}
    </Section>
  );
}

const total = (counts: readonly number[]): number => counts.reduce((sum, each) => sum + each, 0);

function ByDay({ name, counts }: { readonly name: string; readonly counts: AuditCounts }) {
  const { requests, refused } = counts;
  const now = Date.now();
  const bars = requests.map((count, at) => {
    const days = at + 1 - requests.length;
    const [day, next] = [startOfDay(now, days), startOfDay(now, days + 1)];
    const search = { key: name, show: "all", since: new Date(day).toISOString(), until: new Date(next).toISOString() };
    const words = counted("key.activity.ofDay", count, { day: dayText(day) });
    return {
      ...{ label: dayText(day), tick: dayOfMonth(day), count, bad: refused[at] ?? 0 },
      ...(count === 0 ? {} : { link: { to: "/audit", search, words } }),
    };
  });
  const words = { requests: total(requests), refused: total(refused) };
  return (
    <Plot
      title={t("key.activity.days")}
      sum={counted("home.requests.sum", words.requests, words)}
      table={() => ({
        columns: [t("key.activity.day"), t("home.requests"), t("home.refused")],
        rows: bars.map(({ label, count, bad }) => [label, count, bad]),
      })}
    >
      <BarPlot label={t("home.requests.words", words)} bars={bars} />
    </Plot>
  );
}

function Sources({ counts: { sources, moreSources } }: { readonly counts: AuditCounts }) {
  const [first] = sources;
  return (
    <article className="card plot">
      <h3>{t("key.activity.from")}</h3>
      {first === undefined && <p className="muted">{t("key.activity.none")}</p>}
      <ol className="ranking">
        {sources.map(({ sourceIP, requests, refused }) => (
          <li key={sourceIP}>
            <span className="ranking-name">
              <code>{sourceIP}</code>
              {refused > 0 && <span className="muted">{counted("home.refusals", refused)}</span>}
            </span>
            <meter min={0} max={first?.requests ?? 1} value={requests} aria-label={counted("home.used.of", requests)} />
            <span className="ranking-count">{numberText(requests)}</span>
          </li>
        ))}
      </ol>
      {moreSources > 0 && <p className="muted">{counted("key.activity.more", moreSources)}</p>}
    </article>
  );
}
