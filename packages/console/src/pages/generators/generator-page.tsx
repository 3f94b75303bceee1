// One kubeconfig generator: whose access it gives, and the credential for each virtual cluster that it selects.

import "./generator-texts.ts";
import type { GeneratedCluster, KubeconfigGenerator } from "@postern/api/kubeconfig-generator";
import { Link } from "@tanstack/react-router";
import { inNamespace, KUBECONFIG_GENERATORS, nameOf } from "../../api/resources.ts";
import { DescriptionCard } from "../../components/description-list.tsx";
import { Notice } from "../../components/notice.tsx";
import { HeadWithActions } from "../../components/object-actions.tsx";
import { objectPage } from "../../components/object-page.tsx";
import { Section } from "../../components/page-head.tsx";
import { LongList } from "../../components/tables/long-list.tsx";
import { Time } from "../../components/time.tsx";
import { duration } from "../../format/ages.ts";
import { namespaceOf } from "../../settings.ts";
import { sentence, t } from "../../texts/text.tsx";
import { GeneratorBadge, readyOf } from "./generator-badge.tsx";
import { selectorText } from "./generator-draft.ts";

/** The default of the server: a day. */
const DEFAULT_TTL_SECONDS = 86_400;

export const generatorsIn = (project: string) => inNamespace(KUBECONFIG_GENERATORS, namespaceOf(project));

export const GeneratorPage = objectPage<KubeconfigGenerator>("generator", generatorsIn, (generator, project) => (
  <GeneratorView generator={generator} project={project} />
));

function GeneratorView({ generator, project }: { readonly generator: KubeconfigGenerator; readonly project: string }) {
  const name = nameOf(generator);
  const { spec, status = {}, metadata } = generator;
  const { argoCD = {} } = spec;
  const ready = readyOf(status.conditions);
  const { creator, accessKey } = status;
  return (
    <>
      <HeadWithActions
        kind="generator"
        address={generatorsIn(project)}
        object={generator}
        editedAt={`/kubeconfig-generators/${project}/${name}/edit`}
        consequences={[t("generator.delete.credentials"), t("generator.delete.secrets")]}
      />
      {ready?.status === "False" && ready.reason !== "Pending" && (
        <Notice tone="bad">{sentence(ready.message ?? "")}</Notice>
      )}
      <DescriptionCard
        items={[
          [t("field.state"), <GeneratorBadge key="state" conditions={status.conditions} />],
          [t("field.name"), <code key="name">{name}</code>],
          [
            t("field.project"),
            <Link key="project" to="/projects/$name" params={{ name: project }}>
              {project}
            </Link>,
          ],
          [
            t("generator.fact.selector"),
            <code key="selector">{selectorText(spec.selector) || t("generator.all")}</code>,
          ],
          [t("field.format"), spec.format ?? "Kubeconfig"],
          [t("field.secret"), <code key="secret">{`${metadata.namespace ?? ""}/${spec.secretRef.name}`}</code>],
          argoCD.project !== undefined && [t("generator.argo.project"), <code key="argo">{argoCD.project}</code>],
          (argoCD.namespaces ?? []).length > 0 && [t("generator.argo.namespaces"), argoScope(argoCD)],
          argoCD.shard !== undefined && [t("generator.argo.shard"), argoCD.shard],
          [t("generator.fact.role"), t(spec.role === "view" ? "generator.role.view" : "generator.role.all")],
          [t("generator.fact.ttl"), duration(spec.ttlSeconds ?? DEFAULT_TTL_SECONDS)],
          [t("field.creator"), creator?.name ?? "–"],
          accessKey !== undefined && [
            t("generator.fact.key"),
            <Link key="key" to="/keys/$name" params={{ name: accessKey }}>
              {accessKey}
            </Link>,
          ],
          [t("field.created"), <Time key="at" at={metadata.creationTimestamp} otherwise="" />],
        ]}
      />
      <Template template={spec.secretTemplate ?? {}} />
      <Clusters clusters={status.clusters ?? []} selected={status.selected ?? 0} project={project} />
    </>
  );
}

type Spec = KubeconfigGenerator["spec"];

function argoScope({ namespaces = [], clusterResources = false }: NonNullable<Spec["argoCD"]>): string {
  const names = namespaces.join(", ");
  return clusterResources ? t("generator.argo.withClusterResources", { names }) : names;
}

/** Labels and annotations of the Secrets; a label that is copied takes precedence. */
function Template({ template }: { readonly template: NonNullable<Spec["secretTemplate"]> }) {
  const { labels = {}, annotations = {}, copyLabels = [] } = template;
  const own = Object.entries(labels);
  const noted = Object.entries(annotations);
  if (own.length + noted.length + copyLabels.length === 0) return null;
  return (
    <Section title={t("generator.template.title")} lead={t("generator.template.lead")}>
      <ul className="lines card pairs">
        {own.map(([key, value]) => (
          <li key={`label ${key}`}>
            <code>{key}</code>
            <span className="mono">{value}</span>
          </li>
        ))}
        {copyLabels.map((key) => (
          <li key={`copied ${key}`}>
            <code>{key}</code>
            <span className="muted">{t("generator.template.copied")}</span>
          </li>
        ))}
        {noted.map(([key, value]) => (
          <li key={`annotation ${key}`}>
            <span>
              <code>{key}</code> <span className="muted">{t("generator.template.annotation")}</span>
            </span>
            <span className="mono">{value}</span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Clusters(props: {
  readonly clusters: readonly GeneratedCluster[];
  readonly selected: number;
  readonly project: string;
}) {
  const { clusters, selected, project } = props;
  return (
    <Section title={t("clusters.title")} lead={t("generator.clusters.lead")}>
      <LongList
        items={clusters}
        none={t("generator.clusters.none")}
        textOf={({ name, secret = "" }) => `${name} ${secret}`}
      >
        {({ name, secret = "", expirationTimestamp, conditions }) => {
          const ready = readyOf(conditions);
          return (
            <li key={name}>
              <span className="two-lines">
                <Link to="/clusters/$project/$name" params={{ project, name }}>
                  {name}
                </Link>
                <span className="muted">
                  {ready?.status === "False" && ready.message ? sentence(ready.message) : secret}
                </span>
              </span>
              <span>
                {expirationTimestamp !== undefined && (
                  <>
                    {t("time.expires")} <Time at={expirationTimestamp} otherwise="" />{" "}
                  </>
                )}
                <GeneratorBadge conditions={conditions} />
              </span>
            </li>
          );
        }}
      </LongList>
      {selected > clusters.length && clusters.length > 0 && (
        <p className="hint">{t("generator.clusters.more", { count: selected - clusters.length })}</p>
      )}
    </Section>
  );
}
