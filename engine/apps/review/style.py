"""The style sheet of the reports: light, readable on a phone, printable. The pages need no script and no other file."""

STYLE = """
:root{--ink:#1d2733;--soft:#5b5f66;--line:#ddd9cf;--paper:#fff;--ground:#f6f4ee;--accent:#1f5f99}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.5 system-ui,"Segoe UI",Roboto,sans-serif}
main{max-width:1060px;margin:0 auto;padding:24px 20px 48px}
h1{font-size:1.6rem;line-height:1.25;margin:0 0 .3rem;overflow-wrap:anywhere}
h2{font-size:1.2rem;margin:2rem 0 .6rem}
h3{font-size:1.05rem;margin:0 0 .4rem}
p{margin:.35rem 0;overflow-wrap:anywhere}
a{color:var(--accent)}
.soft{color:var(--soft);font-size:.92rem}
.card{background:var(--paper);border:1px solid var(--line);border-radius:10px;padding:16px;margin:0 0 16px}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:6px 10px;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th{font-weight:600;font-size:.88rem;color:var(--soft)}
th:first-child,td:first-child{text-align:left}
td.name{white-space:normal;overflow-wrap:anywhere;text-align:left}
.games td:nth-last-child(7),.games th:nth-child(2){text-align:left}
tr.whole td{font-weight:600}
.graph{display:block;width:100%;max-width:860px;height:auto;margin:0 auto}
.graph text{font-size:16px}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;justify-content:center;font-size:.88rem;color:var(--soft)}
.legend i{display:inline-block;vertical-align:middle;margin-right:6px}
.dot{width:12px;height:12px;border-radius:50%}
.dash{width:22px;border-top:2px dashed #2f7fc4}
.full{width:22px;border-top:3px solid #1d2733}
.why{margin:.4rem 0;padding-left:1.2rem}
.boards{display:grid;grid-template-columns:1fr 1fr;gap:16px;margin-top:10px}
figure{margin:0}
figure svg{display:block;width:100%;height:auto;border-radius:6px}
figcaption{font-size:.88rem;color:var(--soft);margin-top:4px}
.grade{display:inline-block;border-radius:5px;padding:1px 8px;color:#fff;font-size:.85rem;margin-right:6px}
@media (max-width:640px){
main{padding:14px 10px 32px}
h1{font-size:1.3rem}
.card{padding:12px 10px}
th,td{padding:5px 3px;font-size:.82rem}
th,td:first-child{white-space:normal}
th{font-size:.72rem;vertical-align:bottom}
.graph text{font-size:24px}
.games .soft{font-size:.74rem;line-height:1.35}
.games td:nth-last-child(6),.games th:nth-child(3),.games td:nth-last-child(3),.games th:nth-child(6){display:none}
.boards{grid-template-columns:1fr}
}
@media print{
body{background:#fff;font-size:11pt}
main{max-width:none;padding:0}
.card{border:0;padding:0}
.mistake,figure{break-inside:avoid}
h2{break-after:avoid}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}
}
"""
