// The server: its version and address, its CA, and the findings of its doctor.

import { useQuery } from "@tanstack/react-query";
import { useApi } from "../api/api-context.tsx";
import { useMay } from "../api/use-may.ts";
import { Badge, type Tone } from "../components/badge.tsx";
import { Code } from "../components/copy-text.tsx";
import { DescriptionList } from "../components/description-list.tsx";
import { Loading } from "../components/loading.tsx";
import { ErrorNotice } from "../components/notice.tsx";
import { PageHead, Section } from "../components/page-head.tsx";
import { settings } from "../settings.ts";
import { counted, t } from "../texts/text.tsx";
import { AuthoritySection } from "./authorities/authority-section.tsx";
import { usePlatformAuthority } from "./authorities/authority-sources.ts";

const DOCTOR_PATH = "/doctor";

/** The response of /version, as far as it is shown. */
type Version = { readonly gitVersion?: string; readonly platform?: string; readonly buildDate?: string };

type Finding = {
  readonly check: string;
  readonly status: "ok" | "warning" | "error" | "skipped";
  readonly message: string;
  readonly remedy?: string;
};

const TONES: { readonly [status in Finding["status"]]: Tone } = {
  ok: "good",
  warning: "warn",
  error: "bad",
  skipped: "muted",
};

export function AboutPage() {
  const { client } = useApi();
  const { data: version = {} } = useQuery({
    queryKey: ["version"],
    queryFn: async ({ signal }) => (await client.request({ method: "GET", path: "/version", signal })) as Version,
  });
  return (
    <>
      <PageHead title={t("about.title")} lead={t("about.lead")} />
      <div className="card">
        <DescriptionList
          items={[
            [t("about.version"), settings.version || "–"],
            [t("about.kubernetes"), <code key="kubernetes">{version.gitVersion ?? ""}</code>],
            [t("about.platform"), version.platform ?? ""],
            [t("about.address"), <code key="address">{location.origin}</code>],
            [t("about.name"), settings.name],
            [t("about.group"), <code key="group">{settings.managementGroup}</code>],
          ]}
        />
      </div>
      <Authority />
      <Doctor />
    </>
  );
}

/** For administrators. */
function Authority() {
  return <AuthoritySection source={usePlatformAuthority()} />;
}

/** For administrators: findings name files of the server's machine. */
function Doctor() {
  const { client } = useApi();
  const right = useMay({ verb: "get", path: DOCTOR_PATH });
  const found = useQuery({
    queryKey: ["doctor"],
    queryFn: async ({ signal }) =>
      (await client.request({ method: "GET", path: DOCTOR_PATH, signal })) as { readonly findings: readonly Finding[] },
    enabled: right.isAllowed,
    retry: false,
  });
  if (!right.isAllowed) return null;
  const findings = found.data?.findings ?? [];
  const wrong = findings.filter(({ status }) => status === "warning" || status === "error");
  const others = findings.filter(({ status }) => status === "ok" || status === "skipped");
  return (
    <Section title={t("about.doctor")} lead={t("about.doctor.lead")}>
      {found.isLoading && <Loading />}
      {found.error !== null && <ErrorNotice error={found.error} onRetry={() => void found.refetch()} />}
      {found.data !== undefined && (
        <>
          {wrong.length === 0 && <p className="muted">{t("about.doctor.fine")}</p>}
          <Findings findings={wrong} />
          <details className="aside">
            <summary>{counted("about.doctor.others", others.length)}</summary>
            <Findings findings={others} />
          </details>
        </>
      )}
      <Code label={t("about.doctor.command")} text="postern doctor" />
    </Section>
  );
}

function Findings({ findings }: { readonly findings: readonly Finding[] }) {
  return (
    <ul className="lines card">
      {findings.map(({ check, status, message, remedy }) => (
        <li key={`${check} ${message}`}>
          <span className="two-lines">
            <span>
              {check}: {message}
            </span>
            {remedy !== undefined && <span className="muted">{t("about.doctor.remedy", { remedy })}</span>}
          </span>
          <Badge tone={TONES[status]}>{t(`about.doctor.${status}`)}</Badge>
        </li>
      ))}
    </ul>
  );
}
