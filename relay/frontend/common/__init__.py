"""What every importer of models uses: scopes, a builder of expressions, tables of converters."""
