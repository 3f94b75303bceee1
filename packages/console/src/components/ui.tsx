// Small components that all pages use.

import { isApiError } from "@postern/apimachinery/meta/api-error";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Button as AriaButton, type ButtonProps } from "react-aria-components/Button";
import { absoluteTime, relativeTime } from "../format/ages.ts";
import { useNow } from "../format/now.ts";
import { t } from "../texts/text.tsx";

export type ButtonKind = "primary" | "plain" | "quiet" | "danger";

/** `isPending`: the button is busy and ignores presses. */
export function Button({ kind = "plain", ...props }: Omit<ButtonProps, "className"> & { readonly kind?: ButtonKind }) {
  return <AriaButton {...props} className={`button ${kind}`} />;
}

export type Tone = "good" | "warn" | "bad" | "info" | "muted";

export function Badge({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }) {
  return <span className={`badge ${tone}`}>{children}</span>;
}

/** A relative time, with the exact time on hover and for screen readers. */
export function Time(props: { readonly at: string | null | undefined; readonly otherwise: string }) {
  const { at, otherwise } = props;
  const now = useNow();
  if (!at) return <span className="muted">{otherwise}</span>;
  const time = Date.parse(at);
  return (
    <time dateTime={at} title={absoluteTime(time)}>
      {relativeTime(time, now)}
    </time>
  );
}

/** The head of a page: title, lead and actions. */
export function PageHead(props: {
  readonly title: string;
  readonly lead?: ReactNode;
  readonly actions?: ReactNode;
  readonly above?: ReactNode;
}) {
  const { title, lead, actions, above } = props;
  return (
    <header className="page-head">
      <title>{`${title} · Postern`}</title>
      <div className="page-head-text">
        {above !== undefined && <div className="page-above">{above}</div>}
        <h1>{title}</h1>
        {lead !== undefined && <p className="lead">{lead}</p>}
      </div>
      {actions !== undefined && <div className="actions">{actions}</div>}
    </header>
  );
}

export function Section(props: {
  readonly title: string;
  readonly lead?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}) {
  const { title, lead, actions, children } = props;
  return (
    <section className="section">
      <header className="section-head">
        <div>
          <h2>{title}</h2>
          {lead !== undefined && <p className="lead">{lead}</p>}
        </div>
        {actions !== undefined && <div className="actions">{actions}</div>}
      </header>
      {children}
    </section>
  );
}

/** An error and a button to retry. */
export function ErrorNotice({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }) {
  const message = error instanceof Error ? error.message : String(error);
  // Retrying does not help here.
  const isForbidden = isApiError(error, "Forbidden");
  return (
    <div className="notice bad" role="alert">
      <p>{message}</p>
      {isForbidden && <Link to="/access">{t("may.check")}</Link>}
      {!isForbidden && onRetry !== undefined && <Button onPress={onRetry}>{t("action.retry")}</Button>}
    </div>
  );
}

export function Notice({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }) {
  return <div className={`notice ${tone}`}>{children}</div>;
}

/** Explains what an empty list is for, and how to fill it. */
export function EmptyState(props: {
  readonly title: string;
  readonly children?: ReactNode;
  readonly actions?: ReactNode;
}) {
  const { title, children, actions } = props;
  return (
    <div className="empty">
      <h2>{title}</h2>
      {children !== undefined && <p>{children}</p>}
      {actions !== undefined && <div className="actions">{actions}</div>}
    </div>
  );
}

export function Loading({ label = t("state.loading") }: { readonly label?: string }) {
  return (
    <output className="loading">
      <span className="spinner" aria-hidden="true" />
      {label}
    </output>
  );
}

/** Names and values of one object, as a list. */
export function DescriptionList({
  items,
}: {
  readonly items: readonly (readonly [label: string, value: ReactNode])[];
}) {
  return (
    <dl className="description-list">
      {items.map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
