//! SQL accepts and refuses what HTTP accepts and refuses, and makes the same of it.

mod addresses;
mod cases;
mod fields;
mod plan;
mod reach;

use punctual_testkit::servers::Postgres;

/// Calls a function of punctual's with arguments in words; says what it returns, or which column it refused.
const CALL: &str = "create or replace function call(function text, arguments text) returns text language plpgsql as $$
  declare returned text; refused text;
  begin
    execute format('select punctual.%s(%s)', function, arguments) into returned;
    return returned;
  exception when invalid_parameter_value then
    get stacked diagnostics refused = column_name;
    return 'refused ' || refused;
  end $$";

/// A server's database, as an application sees it.
pub(crate) struct Sql<'a> {
    server: &'a Postgres,
    database: &'a str,
}

impl<'a> Sql<'a> {
    pub(crate) fn new(server: &'a Postgres, database: &'a str) -> Self {
        server.sql(database, CALL);
        Self { server, database }
    }

    pub(crate) fn run(&self, statement: &str) -> String {
        self.server.sql(self.database, statement)
    }

    /// Calls `punctual.FUNCTION(ARGUMENTS)`; `Err` is the column that was refused.
    pub(crate) fn call(&self, function: &str, arguments: &str) -> Result<String, String> {
        let said = self.run(&format!("select call('{function}', $arguments${arguments}$arguments$)"));
        match said.strip_prefix("refused ") {
            Some(column) => Err(column.to_owned()),
            None => Ok(said),
        }
    }
}
