// The head of a page, and its sections.

import { useRouterState } from "@tanstack/react-router";
import { CircleQuestionMark } from "lucide-react";
import type { ReactNode } from "react";
import { settled, t } from "../texts/text.tsx";
import { DocsLink } from "./docs-link.tsx";
import { helpFor } from "./help-addresses.ts";

/** The head of a page: title, lead and actions. */
export function PageHead(props: {
  readonly title: string;
  readonly lead?: ReactNode;
  readonly actions?: ReactNode;
  readonly above?: ReactNode;
}) {
  const { title, lead, actions, above } = props;
  const help = useRouterState({ select: ({ location }) => helpFor(location.pathname) });
  return (
    <header className="page-head">
      <title>{`${settled(title)} · Postern`}</title>
      <div className="page-head-text">
        {above !== undefined && <div className="page-above">{above}</div>}
        <div className="page-title">
          <h1>{title}</h1>
          <DocsLink to={help} className="help" label={t("help.page")}>
            <CircleQuestionMark aria-hidden="true" />
          </DocsLink>
        </div>
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
