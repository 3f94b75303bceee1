// The server: its version and address, its CA, and the findings of its doctor.

import { useQuery } from "@tanstack/react-query";
import { useApi } from "../api/api-context.tsx";
import { type Finding, isProblem, useDoctor } from "../api/use-doctor.ts";
import { Badge, type Tone } from "../components/badge.tsx";
import { Code } from "../components/copy-text.tsx";
import { DescriptionCard } from "../components/description-list.tsx";
import { Loading } from "../components/loading.tsx";
import { ErrorNotice } from "../components/notice.tsx";
import { PageHead, Section } from "../components/page-head.tsx";
import { settings } from "../settings.ts";
import { counted, t } from "../texts/text.tsx";
import { AuthoritySection } from "./authorities/authority-section.tsx";
import { usePlatformAuthority } from "./authorities/authority-sources.ts";

/** The response of /version, as far as it is shown. */
type Version = { readonly gitVersion?: string; readonly platform?: string; readonly buildDate?: string };

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
      <DescriptionCard
        items={[
          [t("about.version"), settings.version || "–"],
          [t("about.kubernetes"), <code key="kubernetes">{version.gitVersion ?? ""}</code>],
          [t("about.platform"), version.platform ?? ""],
          [t("about.address"), <code key="address">{location.origin}</code>],
          [t("about.name"), settings.name],
          [t("about.group"), <code key="group">{settings.managementGroup}</code>],
        ]}
      />
      <Doctor />
      <Authority />
    </>
  );
}

/** For administrators. */
function Authority() {
  return <AuthoritySection source={usePlatformAuthority()} />;
}

/** For administrators. */
function Doctor() {
  const { isAllowed, findings, isLoading, error, retry } = useDoctor();
  if (!isAllowed) return null;
  const wrong = (findings ?? []).filter(isProblem);
  const others = (findings ?? []).filter((finding) => !isProblem(finding));
  return (
    <Section title={t("about.doctor")} lead={t("about.doctor.lead")}>
      {isLoading && <Loading />}
      {error !== null && <ErrorNotice error={error} onRetry={retry} />}
      {findings !== undefined && (
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
