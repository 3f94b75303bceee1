// The style of the pages of sign-in: the console's type, spacing and colours (packages/console/src/styles), in one sheet within the page, so that they
// load nothing.

const DARK = `
--ground:#1b1b22;--sunken:#0d0d11;--hover:#24242d;--line:#2b2b35;--line-strong:#7d7d8e;--ink:#ededf2;--soft:#c0c0cc;--accent:#6a70f0;
--accent-hover:#7f84f5;--accent-ink:#0b0b14;--link:#a3a8ff;--bad:#ff8f86;--warn:#f0bd5e;--warn-soft:#35270d`.trim();

export const PAGE_STYLE = `
:root{color-scheme:light dark;--ground:#fff;--sunken:#f7f7f9;--hover:#f1f1f5;--line:#e4e4ea;--line-strong:#8a8a99;--ink:#17171f;--soft:#4b4b59;
--accent:#4a50d4;--accent-hover:#3d42bd;--accent-ink:#fff;--link:#3f45c4;--bad:#b3261e;--warn:#875200;--warn-soft:#fdf1d9}
@media (prefers-color-scheme:dark){:root:not([data-theme=light]){${DARK}}}
:root[data-theme=dark]{color-scheme:dark;${DARK}}
:root[data-theme=light]{color-scheme:light}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;min-height:100dvh;display:grid;place-items:center;padding:1rem;background:var(--sunken);color:var(--ink);
font:.875rem/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","Helvetica Neue",sans-serif;-webkit-text-size-adjust:100%}
main{width:100%;max-width:400px;min-width:0;padding:2rem;border:1px solid var(--line);border-radius:10px;background:var(--ground);overflow-wrap:anywhere}
main:has(.keys){max-width:640px}
.logo{display:block;width:36px;height:36px;margin-bottom:1rem}
h1{margin:0 0 1rem;font-size:1.25rem;font-weight:620;letter-spacing:-.015em;line-height:1.3}
h2{margin:1.5rem 0 .5rem;font-size:1rem;font-weight:600;letter-spacing:-.01em}
p{margin:0 0 1rem}
a{color:var(--link);text-decoration:none}
a:hover{text-decoration:underline}
ul{list-style:none;margin:0;padding:0}
code{font:.9286em ui-monospace,"SF Mono","JetBrains Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;color:var(--soft)}
form{display:flex;flex-wrap:wrap;gap:.5rem;margin:0}
label{width:100%;font-weight:550}
input{width:100%;min-height:38px;padding:0 .75rem;border:1px solid var(--line-strong);border-radius:6px;background:var(--ground);color:inherit;font:inherit}
button,.choices a{display:inline-flex;align-items:center;justify-content:center;flex:1 1 8rem;min-height:38px;padding:.25rem .75rem;border:1px solid transparent;
border-radius:6px;font:inherit;font-size:.8125rem;font-weight:550;line-height:1.2;text-align:center;cursor:pointer;background:var(--accent);color:var(--accent-ink)}
button:hover{background:var(--accent-hover)}
.choices{display:grid;gap:.5rem}
.choices a,button[value=deny],main:has(.keys) button{border-color:var(--line);background:var(--ground);color:var(--ink)}
.choices a:hover,button[value=deny]:hover,main:has(.keys) button:hover{background:var(--hover);text-decoration:none}
.keys li{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:center;justify-content:space-between;padding:.75rem 0;border-bottom:1px solid var(--line)}
.keys div{flex:1 1 14rem;min-width:0}
main .keys button{flex:none;color:var(--bad)}
.note{padding:.5rem .75rem;border-radius:6px;background:var(--warn-soft);color:var(--warn)}
[role=alert]{color:var(--bad)}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
@media (max-width:480px){main{padding:1.5rem}}
`;
